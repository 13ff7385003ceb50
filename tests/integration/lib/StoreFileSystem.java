// SPDX-License-Identifier: Apache-2.0
package duckicelake;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSInputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import org.apache.iceberg.aws.s3.S3FileIO;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.SeekableInputStream;

/**
 * s3:// as a Hadoop file system, by Iceberg's own S3 client, because Spark's add_files lists its
 * source and writes manifests that way. Settings: spark.hadoop.duckicelake.store.KEY are S3FileIO's properties.
 */
public final class StoreFileSystem extends FileSystem {
  private static final String SETTINGS = "duckicelake.store.";

  private final S3FileIO io = new S3FileIO();
  private URI uri;

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(name, conf);
    uri = URI.create(name.getScheme() + "://" + name.getAuthority());
    io.initialize(conf.getPropsWithPrefix(SETTINGS));
  }

  @Override
  public String getScheme() {
    return "s3";
  }

  @Override
  public URI getUri() {
    return uri;
  }

  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    if (io.listPrefix(path + "/").iterator().hasNext()) {
      return folder(path);
    }
    for (FileInfo found : io.listPrefix(path.toString())) {
      if (found.location().equals(path.toString())) {
        return file(found);
      }
    }
    throw new FileNotFoundException(path.toString());
  }

  @Override
  public FileStatus[] listStatus(Path path) {
    String prefix = path + "/";
    Map<String, FileStatus> children = new LinkedHashMap<>();
    for (FileInfo found : io.listPrefix(prefix)) {
      String rest = found.location().substring(prefix.length());
      int slash = rest.indexOf('/');
      if (slash < 0) {
        children.put(rest, file(found));
      } else {
        children.put(rest.substring(0, slash), folder(new Path(path, rest.substring(0, slash))));
      }
    }
    return children.values().toArray(new FileStatus[0]);
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) {
    return new FSDataInputStream(new Input(io.newInputFile(path.toString()).newStream()));
  }

  private static FileStatus folder(Path path) {
    return new FileStatus(0, true, 1, 0, 0, path);
  }

  private static FileStatus file(FileInfo found) {
    return new FileStatus(
        found.size(), false, 1, 1 << 27, found.createdAtMillis(), new Path(found.location()));
  }

  private static final class Input extends FSInputStream {
    private final SeekableInputStream stream;

    Input(SeekableInputStream stream) {
      this.stream = stream;
    }

    @Override
    public void seek(long position) throws IOException {
      stream.seek(position);
    }

    @Override
    public long getPos() throws IOException {
      return stream.getPos();
    }

    @Override
    public boolean seekToNewSource(long position) {
      return false;
    }

    @Override
    public int read() throws IOException {
      return stream.read();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return stream.read(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
      stream.close();
    }
  }

  @Override
  public Path getWorkingDirectory() {
    return new Path(uri + "/");
  }

  @Override
  public void setWorkingDirectory(Path path) {}

  @Override
  public FSDataOutputStream create(Path path, FsPermission permission, boolean overwrite,
      int bufferSize, short replication, long blockSize, Progressable progress) throws IOException {
    return new FSDataOutputStream(io.newOutputFile(path.toString()).createOrOverwrite(), null);
  }

  @Override
  public FSDataOutputStream append(Path path, int bufferSize, Progressable progress) {
    throw new UnsupportedOperationException("append");
  }

  @Override
  public boolean rename(Path from, Path to) {
    throw new UnsupportedOperationException("rename");
  }

  @Override
  public boolean delete(Path path, boolean recursive) {
    io.deleteFile(path.toString());
    return true;
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) {
    throw new UnsupportedOperationException("mkdirs");
  }
}
