// SPDX-License-Identifier: Apache-2.0
#include "net/http.h"

namespace duckicelake::net {

Method parse_method(std::string_view text) {
  if (text == "GET") return Method::kGet;
  if (text == "HEAD") return Method::kHead;
  if (text == "POST") return Method::kPost;
  if (text == "PUT") return Method::kPut;
  if (text == "DELETE") return Method::kDelete;
  if (text == "PATCH") return Method::kPatch;
  if (text == "OPTIONS") return Method::kOptions;
  if (text == "TRACE") return Method::kTrace;
  return Method::kOther;
}

std::string_view Request::header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_name) return value;
  }
  return {};
}

bool Request::has_header(std::string_view lower_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_name) return true;
  }
  return false;
}

std::size_t Response::body_size() const {
  std::size_t size = 0;
  for (const Chunk& chunk : body) size += chunk.bytes().size();
  return size;
}

std::string Response::body_text() const {
  std::string text;
  text.reserve(body_size());
  for (const Chunk& chunk : body) text.append(chunk.bytes());
  return text;
}

Response make_response(int status, std::string content_type, std::string body) {
  Response response;
  response.status = status;
  response.headers.emplace_back("content-type", std::move(content_type));
  response.body.emplace_back(std::move(body));
  return response;
}

Response make_json_response(int status, std::string body) {
  return make_response(status, "application/json", std::move(body));
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 419: return "Authentication Timeout";
    case 422: return "Unprocessable Content";
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 507: return "Insufficient Storage";
    default: return "Unknown";
  }
}

}  // namespace duckicelake::net
