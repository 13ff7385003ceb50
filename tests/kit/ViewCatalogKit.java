// SPDX-License-Identifier: Apache-2.0
package duckicelake.kit;

import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.rest.RESTCatalog;
import org.apache.iceberg.view.ViewCatalogTests;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/** Iceberg's view tests against the server. */
class ViewCatalogKit extends ViewCatalogTests<RESTCatalog> {
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
  protected Catalog tableCatalog() {
    return Kit.catalog();
  }

  @Override
  protected String viewLocation(String... path) {
    return location + "/" + String.join("/", path);
  }

  @Override
  protected boolean requiresNamespaceCreate() {
    return true;
  }

  @Override
  protected boolean overridesRequestedLocation() {
    return false;
  }

  @Override
  protected boolean supportsServerSideRetry() {
    return true;
  }

  @Override
  protected boolean supportsEmptyNamespace() {
    return false;
  }
}
