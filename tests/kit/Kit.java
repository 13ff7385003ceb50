// SPDX-License-Identifier: Apache-2.0
package duckicelake.kit;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.rest.RESTCatalog;

/**
 * What both suites share: the catalog under test and how its traces are removed between tests.
 *
 * <p>The properties file named by the system property {@code kit.properties} holds what a client of
 * the catalog is given ({@code uri}, {@code s3.endpoint}, ...) and two keys for the kit itself:
 * {@code kit.location}, a place in the warehouse for tables whose location a test chooses, and
 * {@code kit.drop-leftovers}, whether namespaces of an earlier run may be dropped at the start.
 */
final class Kit {
  /** Every namespace that a suite makes, so that leftovers are told from what others own. */
  private static final Set<String> TEST_NAMESPACES =
      Set.of(
          "a", "new.db", "new/db", "newdb", "newdb_1", "newdb_2", "ns", "ns1", "ns2", "ns_1", "ns_2",
          "other_ns", "parent");

  /** Properties that the tests expect their catalog's client to add to tables and views. */
  private static final Map<String, String> DEFAULTS =
      Map.ofEntries(
          Map.entry("table-default.default-key1", "catalog-default-key1"),
          Map.entry("table-default.default-key2", "catalog-default-key2"),
          Map.entry("table-default.override-key3", "catalog-default-key3"),
          Map.entry("table-override.override-key3", "catalog-override-key3"),
          Map.entry("table-override.override-key4", "catalog-override-key4"),
          Map.entry("view-default.key1", "catalog-default-key1"),
          Map.entry("view-default.key2", "catalog-default-key2"),
          Map.entry("view-default.key3", "catalog-default-key3"),
          Map.entry("view-override.key3", "catalog-override-key3"),
          Map.entry("view-override.key4", "catalog-override-key4"));

  private static final Properties SETTINGS = read();
  private static final RESTCatalog CATALOG = open(Map.of());
  private static final Set<Namespace> FOREIGN = foreign();

  private Kit() {}

  static RESTCatalog catalog() {
    return CATALOG;
  }

  static RESTCatalog open(Map<String, String> more) {
    Map<String, String> properties = new HashMap<>(DEFAULTS);
    SETTINGS.stringPropertyNames().stream()
        .filter(name -> !name.startsWith("kit."))
        .forEach(name -> properties.put(name, SETTINGS.getProperty(name)));
    properties.putAll(more);
    RESTCatalog catalog = new RESTCatalog();
    catalog.initialize("kit", properties);
    return catalog;
  }

  /** A folder that no other test and no other run asks for. */
  static String freshLocation() {
    return SETTINGS.getProperty("kit.location") + "/kit_" + UUID.randomUUID();
  }

  /** Drops all that is not {@link #FOREIGN}; what cannot be dropped is said and left. */
  static void clean(String before) {
    for (Namespace namespace : CATALOG.listNamespaces()) {
      if (!FOREIGN.contains(namespace)) {
        try {
          drop(namespace);
        } catch (RuntimeException e) {
          System.err.println("kit: cleaning up " + namespace + " before " + before + ": " + e);
        }
      }
    }
  }

  private static void drop(Namespace namespace) {
    CATALOG.listNamespaces(namespace).forEach(Kit::drop);
    CATALOG.listTables(namespace).forEach(table -> CATALOG.dropTable(table, false));
    CATALOG.listViews(namespace).forEach(CATALOG::dropView);
    CATALOG.dropNamespace(namespace);
  }

  private static Set<Namespace> foreign() {
    Set<Namespace> found = new HashSet<>(CATALOG.listNamespaces());
    Set<Namespace> leftovers =
        found.stream()
            .filter(namespace -> TEST_NAMESPACES.contains(namespace.level(0)))
            .collect(Collectors.toSet());
    if (!leftovers.isEmpty() && !Boolean.parseBoolean(SETTINGS.getProperty("kit.drop-leftovers"))) {
      throw new IllegalStateException(
          "the catalog has namespaces that the kit would drop: "
              + leftovers
              + "; use another lake, or allow it with --drop-leftovers");
    }
    found.removeAll(leftovers);
    return found;
  }

  private static Properties read() {
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(Path.of(System.getProperty("kit.properties")))) {
      properties.load(reader);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return properties;
  }
}
