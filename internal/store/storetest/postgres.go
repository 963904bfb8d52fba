package storetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of a new, empty database on a PostgreSQL server that
// all tests of the process share. The server is started at the first call, from
// the programs initdb and postgres, and ends with the process, however that
// ends. Without them the test fails: it is never skipped.
//
// The server does not sync its files, so that tests are quick: see DurablePostgres.
func Postgres(tb testing.TB) string {
	tb.Helper()
	server, err := sharedPostgres()
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return server.database(tb)
}

// PostgresIn is Postgres on a server of its own, whose files lie in a folder that is
// there, and which ends with the test. It takes 60 MB to begin with.
func PostgresIn(tb testing.TB, folder string) string {
	tb.Helper()
	server, err := startPostgres(filepath.Join(folder, "data"), "-c", "max_wal_size=32MB", "-c", "wal_level=minimal", "-c", "max_wal_senders=0")
	if err != nil {
		tb.Fatalf("%v", err)
	}
	tb.Cleanup(func() {
		server.stdin.Close()
		server.keeper.Wait()
	})
	return server.database(tb)
}

// database makes a new, empty database.
func (s *postgresServer) database(tb testing.TB) string {
	tb.Helper()
	ctx := context.Background()
	admin, err := pgx.Connect(ctx, s.url("postgres"))
	if err != nil {
		tb.Fatalf("connect to the PostgreSQL server of the tests: %v\n%s", err, s.output())
	}
	defer admin.Close(ctx)
	s.mu.Lock()
	s.databases++
	name := fmt.Sprintf("test%d", s.databases)
	s.mu.Unlock()
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		tb.Fatalf("make a database for the test: %v", err)
	}
	return s.url(name)
}

// DurablePostgres is Postgres for benchmarks: the server syncs its files from now on.
func DurablePostgres(b *testing.B) string {
	b.Helper()
	url := Postgres(b)
	c, err := pgx.Connect(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(b.Context())
	for _, stmt := range []string{"ALTER SYSTEM SET fsync = on", "SELECT pg_reload_conf()"} {
		if _, err := c.Exec(b.Context(), stmt); err != nil {
			b.Fatal(err)
		}
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		var fsync string
		if err := c.QueryRow(b.Context(), "SHOW fsync").Scan(&fsync); err != nil || time.Now().After(deadline) {
			b.Fatalf("the PostgreSQL server does not sync its files: %v", err)
		}
		if fsync == "on" {
			return url
		}
	}
}

type postgresServer struct {
	dir string
	log *os.File
	// stdin is held open as long as the process lives: the server's keeper ends
	// the server when it is closed.
	stdin  *os.File
	keeper *exec.Cmd

	mu        sync.Mutex
	databases int
}

func (s *postgresServer) url(database string) string {
	return (&url.URL{
		Scheme: "postgres", Path: "/" + database,
		RawQuery: url.Values{"host": {s.dir}, "user": {"postgres"}, "sslmode": {"disable"}}.Encode(),
	}).String()
}

func (s *postgresServer) output() []byte {
	text, _ := os.ReadFile(s.log.Name())
	return text
}

var sharedPostgres = sync.OnceValues(func() (*postgresServer, error) { return startPostgres("") })

// startPostgres starts a server whose files lie in data; with an empty one in a folder
// of its own.
func startPostgres(data string, options ...string) (_ *postgresServer, err error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	s := &postgresServer{}
	// A short path: a socket's name has 100 characters at most.
	if s.dir, err = os.MkdirTemp("", "reevepg"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(s.dir)
		}
	}()
	data = cmp.Or(data, filepath.Join(s.dir, "data"))
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	attr, err := serverAttributes(s.dir, data)
	if err != nil {
		return nil, err
	}
	initdb := exec.Command(filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	initdb.SysProcAttr, initdb.Dir = attr, s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	// In the file, where ALTER SYSTEM can change it.
	conf, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	_, err = conf.WriteString("fsync = off\n")
	if err = errors.Join(err, conf.Close()); err != nil {
		return nil, err
	}

	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		return nil, err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.stdin = out
	keeper := exec.Command("/bin/sh", append([]string{"-c", `"$0" "$@" </dev/null & cat >/dev/null; kill -QUIT $!; wait; rm -rf "$REEVE_PG_DIR"`,
		filepath.Join(bin, "postgres"), "-D", data, "-k", s.dir, "-c", "listen_addresses=",
		"-c", "max_connections=60", "-c", "shared_buffers=64MB", "-c", "log_min_messages=fatal"}, options...)...)
	s.keeper = keeper
	keeper.Stdin, keeper.Stdout, keeper.Stderr = in, s.log, s.log
	keeper.Env = append(os.Environ(), "REEVE_PG_DIR="+s.dir)
	keeper.SysProcAttr, keeper.Dir = attr, "/"
	err = keeper.Start()
	in.Close()
	if err != nil {
		return nil, fmt.Errorf("start the PostgreSQL server: %w", err)
	}

	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		conn, err := pgx.Connect(ctx, s.url("postgres"))
		if err == nil {
			conn.Close(ctx)
			cancel()
			return s, nil
		}
		cancel()
		if time.Now().After(deadline) {
			s.stdin.Close()
			return nil, fmt.Errorf("the PostgreSQL server did not start: %w\n%s", err, bytes.TrimSpace(s.output()))
		}
	}
}

// findPostgres returns the directory of the server's programs.
func findPostgres() (string, error) {
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(path))
		}
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/local/bin", "/usr/local/pgsql/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/pgsql-*/bin"} {
		found, _ := filepath.Glob(pattern)
		slices.Reverse(found)
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		_, initdb := os.Stat(filepath.Join(dir, "initdb"))
		_, postgres := os.Stat(filepath.Join(dir, "postgres"))
		if initdb == nil && postgres == nil {
			return dir, nil
		}
	}
	return "", errors.New(strings.TrimSpace(`
this test needs a PostgreSQL server, which it starts by itself: the programs initdb and postgres were not found.
Install it (Debian and Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql)`))
}
