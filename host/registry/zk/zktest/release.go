// Package zktest starts real ZooKeeper servers for tests, kills them, reads their transaction
// logs, and puts a proxy in front of them that can lose data. It is not for production code,
// and knows nothing of the registry port.
//
// Flow: Debian or Newer find a release, or skip the test; Start and StartEnsemble run its
// servers on free ports of loopback; NewProxy stands in between; Server.Log returns what was
// written. All end with the test.
package zktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const (
	// NewerVersion is the release that Newer finds.
	NewerVersion = "3.9.4"

	debianJar = "/usr/share/java/zookeeper.jar"
	// debianMore has the jars that Debian's package does not name itself: for the log, and TLS.
	debianMore = ":/usr/share/java/slf4j-simple.jar:/usr/share/java/netty-codec.jar"
	// fetchTime bounds an installation or download.
	fetchTime = 10 * time.Minute
)

// Release is an installed ZooKeeper.
type Release struct {
	Name      string
	classpath string
}

// Debian returns the release of the distribution. If it is missing, the test is skipped; if
// WASMJOBD_STRICT is 1, it is installed, or the test fails.
func Debian(t testing.TB) Release {
	t.Helper()
	if _, err := os.Stat(debianJar); err != nil && strict() && os.Getuid() == 0 {
		if err := run("apt-get", "-o", "DPkg::Lock::Timeout=300", "-y", "-qq", "install", "--no-install-recommends", "zookeeper"); err != nil {
			t.Fatalf("install ZooKeeper: %v", err)
		}
	}
	if _, err := os.Stat(debianJar); err != nil {
		leaveOut(t, "no ZooKeeper at "+debianJar+": apt-get install zookeeper")
	}
	return needJava(t, Release{"debian", debianJar + debianMore})
}

// Newer returns release NewerVersion from Maven Central, kept in build/zookeeper. If that
// fails, the test is skipped, or fails if WASMJOBD_STRICT is 1.
func Newer(t testing.TB) Release {
	t.Helper()
	dir, err := fetched()
	if err != nil {
		leaveOut(t, fmt.Sprintf("no ZooKeeper %s: %v", NewerVersion, err))
	}
	return needJava(t, Release{NewerVersion, filepath.Join(dir, "*")})
}

// needJava returns r, and skips the test if there is no Java to run it.
func needJava(t testing.TB, r Release) Release {
	t.Helper()
	if _, err := exec.LookPath("java"); err != nil {
		leaveOut(t, "no java in PATH")
	}
	return r
}

func strict() bool { return os.Getenv("WASMJOBD_STRICT") == "1" }

// leaveOut skips the test or, if WASMJOBD_STRICT is 1, fails it.
func leaveOut(t testing.TB, why string) {
	t.Helper()
	if strict() {
		t.Fatal(why)
	}
	t.Skip(why)
}

// fetched returns the folder with the jars of the newer release. It fetches them if they are not
// there.
func fetched() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "build", "zookeeper", NewerVersion)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return "", fmt.Errorf("create a folder for ZooKeeper: %w", err)
	}
	// A separate folder until it is complete, since another process may do the same.
	work, err := os.MkdirTemp(filepath.Dir(dir), NewerVersion+"-")
	if err != nil {
		return "", fmt.Errorf("create a folder for ZooKeeper: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }() // remove what a failure leaves
	pom, jars := filepath.Join(work, "pom.xml"), filepath.Join(work, "jars")
	if err := os.WriteFile(pom, []byte(project), 0o600); err != nil {
		return "", fmt.Errorf("write project: %w", err)
	}
	if err := run("mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DoutputDirectory="+jars); err != nil {
		return "", err
	}
	if err := os.Rename(jars, dir); err != nil && !errors.Is(err, os.ErrExist) {
		if _, there := os.Stat(dir); there != nil {
			return "", fmt.Errorf("keep ZooKeeper: %w", err)
		}
	}
	return dir, nil
}

// project makes Maven fetch a server and its libraries for metrics and compression.
const project = `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>zktest</groupId><artifactId>zktest</artifactId><version>1</version><packaging>pom</packaging>
<dependencies>
<dependency><groupId>org.apache.zookeeper</groupId><artifactId>zookeeper</artifactId><version>` + NewerVersion + `</version></dependency>
<dependency><groupId>io.dropwizard.metrics</groupId><artifactId>metrics-core</artifactId><version>4.1.12.1</version></dependency>
<dependency><groupId>org.xerial.snappy</groupId><artifactId>snappy-java</artifactId><version>1.1.10.5</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>2.0.13</version></dependency>
</dependencies></project>`

// moduleRoot returns the folder of the module whose test runs.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("find the module: no go.mod above the working directory")
		}
		dir = up
	}
}

// run runs a command to its end. Its error contains the command's output.
func run(name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime) //nolint:forbidigo // bounded, and shared by tests
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // commands of this package
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
