// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace duckicelake::app {

// The program. 0: done; 1: what was asked for failed; 2: the command line or a setting is wrong.
int run_program(int argc, const char* const* argv);

}  // namespace duckicelake::app
