package config

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFaultsOfHistory(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"passwords_in_addresses", "[history]\ndsn = 'postgres://x:hunter2@h/y'\n", []string{
			`t.toml:2:7: history.dsn: the address has a password in it (remove it, and write password = "file:path" beside dsn)`,
		}},
		{"password_as_it_is", "[history]\ndsn = 'mysql://x@h/y'\npassword = 'hunter2'\n", []string{
			`t.toml:3:12: history.password: a secret is named here, not written (write "env:NAME" or "file:path/to/file")`,
		}},
		{"password_of_a_file", "[history]\npassword = 'env:P'\n", []string{
			`t.toml:2:12: history.password: a history in a file has no password (remove it)`,
		}},
		{"tables_in_a_file", "[history]\nelasticjob_tables = true\n", []string{
			`t.toml:2:21: history.elasticjob_tables: the tables of ElasticJob are written only into a database on a server (write dsn = "mysql://user@host/database")`,
		}},
		{"half_an_address", "[history]\ndsn = 'mysql://h/y'\n", []string{
			`t.toml:2:7: history.dsn: mysql:// must be followed by user, host and database (write "mysql://user@host/database")`,
		}},
		{"address_without_database", "[history]\ndsn = 'postgresql://u@h:5432'\n", []string{
			`t.toml:2:7: history.dsn: postgres:// must be followed by user, host and database (write "postgres://user@host/database")`,
		}},
		{"port_of_a_database", "[history]\ndsn = 'postgres://u@h:99999/y'\n", []string{
			`t.toml:2:7: history.dsn: postgres:// must be followed by user, host and database (write "postgres://user@host/database")`,
		}},
		{"options_of_a_database", "[history]\ndsn = 'mysql://u@h/y?allowAllFiles=true'\n", []string{
			`t.toml:2:7: history.dsn: "allowAllFiles" is not an option of such an address, or is listed twice (options are tls, sslrootcert)`,
		}},
		{"mode_of_a_database", "[history]\ndsn = 'mysql://u@h/y?tls=custom'\n", []string{
			`t.toml:2:7: history.dsn: tls cannot be "custom" (write true, preferred, skip-verify, false)`,
		}},
		{"mode_of_postgres", "[history]\ndsn = 'postgres://u@h/y?sslmode='\n", []string{
			`t.toml:2:7: history.dsn: sslmode cannot be "" (write verify-full, verify-ca, require, prefer, allow, disable)`,
		}},
		{"authority_that_is_not_asked", "[history]\ndsn = 'postgres://u@h/y?sslrootcert=ca.pem'\n", []string{
			`t.toml:2:7: history.dsn: nothing compares the certificate of the database with sslrootcert (add sslmode=verify-full)`,
		}},
		{"authority_that_is_passed_over", "[history]\ndsn = 'mysql://u@h/y?tls=preferred&sslrootcert=ca.pem'\n", []string{
			`t.toml:2:7: history.dsn: nothing compares the certificate of the database with sslrootcert (add tls=true)`,
		}},
		{"dsn_without_scheme", "[history]\ndsn = 'history.db'\n", []string{
			`t.toml:2:7: history.dsn: the address of a database has a scheme (write "sqlite://history.db")`,
		}},
		{"other_databases", "[history]\ndsn = 'redis://x'\n", []string{
			`t.toml:2:7: history.dsn: "redis" is not a kind of database (write "sqlite://history.db", "postgres://user@host/database" or mysql:// for MariaDB)`,
		}},
		{"dsn_with_options", "[history]\ndsn = 'sqlite://h.db?mode=ro'\n", []string{
			`t.toml:2:7: history.dsn: sqlite:// must be followed by a path and nothing else (write "sqlite://history.db")`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("t.toml", []byte(tt.text), Options{})
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("the password is in it")
			}
		})
	}
}

func TestHistoryOnAServer(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"postgres://u@h/d": "postgres://u@h/d",
		"postgresql://u@h:5433/d?sslmode=verify-full":        "postgres://u@h:5433/d?sslmode=verify-full",
		"mysql://u@h/d?tls=true&sslrootcert=/a/ca.pem":       "mysql://u@h/d?tls=true&sslrootcert=/a/ca.pem",
		"postgres://u@h/d?sslmode=verify-full&sslrootcert=a": "postgres://u@h/d?sslmode=verify-full&sslrootcert=" + url.QueryEscape(abs(t, "a")),
		"mysql://wasm-jobd@[::1]:3307/d?tls=skip-verify":     "mysql://wasm-jobd@[::1]:3307/d?tls=skip-verify",
	} {
		f, err := Parse("t.toml", []byte("[history]\ndsn = '"+address+"'\npassword = 'env:P'\nelasticjob_tables = true\n"), Options{})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if f.History.Address != want || f.History.Path != "" || !f.History.ElasticJob {
			t.Errorf("%s becomes %+v", address, f.History)
		}
		if password, err := f.HistoryPassword([]string{"P=p@ss"}); password != "p@ss" || err != nil {
			t.Errorf("password %q, %v", password, err)
		}
		if _, err := f.HistoryPassword(nil); err == nil || !strings.Contains(err.Error(), "history.password: the variable P is not set") {
			t.Errorf("without the variable: %v", err)
		}
	}
}
