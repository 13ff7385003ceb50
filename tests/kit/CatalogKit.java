// SPDX-License-Identifier: Apache-2.0
package duckicelake.kit;

import java.util.Map;
import org.apache.iceberg.catalog.CatalogTests;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.RESTCatalog;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/** Iceberg's catalog tests against the server; each flag claims all that a REST client can ask. */
class CatalogKit extends CatalogTests<RESTCatalog> {
  private final String location = Kit.freshLocation();

  @BeforeEach
  void clean(TestInfo test) {
    Kit.clean(test.getDisplayName());
  }

  @Override
  protected RESTCatalog catalog() {
    return Kit.catalog();
  }

  @Override
  protected RESTCatalog initCatalog(String name, Map<String, String> properties) {
    return Kit.open(properties);
  }

  @Override
  protected String baseTableLocation(TableIdentifier table) {
    return location + "/" + table.namespace() + "/" + table.name();
  }

  @Override
  protected boolean supportsNamespaceProperties() {
    return true;
  }

  @Override
  protected boolean supportsNestedNamespaces() {
    return true;
  }

  @Override
  protected boolean requiresNamespaceCreate() {
    return true;
  }

  @Override
  protected boolean supportsServerSideRetry() {
    return true;
  }

  @Override
  protected boolean overridesRequestedLocation() {
    return false;
  }

  @Override
  protected boolean supportsNamesWithSlashes() {
    return true;
  }

  @Override
  protected boolean supportsNamesWithDot() {
    return true;
  }

  /** The protocol has no name for the empty namespace: Iceberg's client refuses it by itself. */
  @Override
  protected boolean supportsEmptyNamespace() {
    return false;
  }
}
