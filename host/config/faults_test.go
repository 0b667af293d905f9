package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaults has a row for every kind of fault, with its exact place.
func TestFaults(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
	}{
		{"syntax", "a = \n", []string{
			"t.toml:1:5: a: expected value but found '\\n' instead",
		}},
		{"syntax_hides_what_follows_it", "[jobs.j]\nshards = 1 2\n[jobs.k]\n", []string{
			"t.toml:2:12: jobs.j: expected a top-level item to end with a newline, comment, or EOF, but got '2' instead",
		}},
		{"key_twice", "[server]\nip = '1.1.1.1'\nip = '1.1.1.1'\n", []string{
			"t.toml:3:1: server.ip: Key 'server.ip' has already been defined.",
		}},
		{"unknown_key", small + "timout = '1s'\n", []string{
			`t.toml:6:1: jobs.j.timout: unknown key (did you mean "timeout"?)`,
		}},
		{"unknown_key_of_a_guest", small + "endpoint = '1s'\n", []string{
			"t.toml:6:1: jobs.j.endpoint: unknown key (what the guest reads goes into [jobs.j.config])",
		}},
		{"unknown_key_in_inline_table", "[server]\nlog = { level = 'info', fromat = 'json' }\n", []string{
			`t.toml:2:25: server.log.fromat: unknown key (did you mean "format"?)`,
		}},
		{"unknown_table", "[sever]\n", []string{
			`t.toml:1:2: sever: unknown key (did you mean "server"?)`,
		}},
		{"unlike_any_key", "[history]\nzzz = 1\n", []string{
			"t.toml:2:1: history.zzz: unknown key (known here: dsn, elasticjob_tables, password, retention)",
		}},
		{"other_case", small + "Shards = 2\nSHARDS = 3\n", []string{
			`t.toml:6:1: jobs.j.Shards: unknown key (did you mean "shards"?)`,
			`t.toml:7:1: jobs.j.SHARDS: unknown key (did you mean "shards"?)`,
		}},
		{"elasticjob_spelling", small + "shardingTotalCount = 2\nsharding_item_parameters = '0=a'\n", []string{
			`t.toml:6:1: jobs.j.shardingTotalCount: unknown key (did you mean "shards"?)`,
			`t.toml:7:1: jobs.j.sharding_item_parameters: unknown key (did you mean "item_params"?)`,
		}},
		{"quoted_and_dotted_keys", "[jobs.\"a b\"]\nmodule.x = 1\n", []string{
			`t.toml:1:7: jobs."a b": cron is missing (write cron = "0 0 2 * * ?", or schedule = "manual" for a job that only a trigger runs)`,
			`t.toml:2:1: jobs."a b".module: must be a string, not a table (put it in quotes)`,
		}},
		{"column_counts_characters", "[server]\nip = 'ü' # ü\n'日本' = 1\n", []string{
			`t.toml:2:6: server.ip: "ü" is not an IP address (write an address such as "10.0.0.7")`,
			`t.toml:3:1: server."日本": unknown key (known here: auth, data_dir, drain_timeout, ip, labels, listen, log, monitor_ip, peer_address, peer_listen, peer_token, tls)`,
		}},
		{"misspelt_required_key", "[modules.m]\nsuorce = 'm'\n[jobs.j]\ncorn = '0 0 2 * * ?'\nmodul = 'm'\n", []string{
			`t.toml:2:1: modules.m.suorce: unknown key (did you mean "source"?)`,
			`t.toml:4:1: jobs.j.corn: unknown key (did you mean "cron"?)`,
			`t.toml:5:1: jobs.j.modul: unknown key (did you mean "module"?)`,
		}},

		{"bare_number_as_duration", small + "timeout = 90\n", []string{
			`t.toml:6:11: jobs.j.timeout: a duration is a string with a unit (write "90s" for seconds)`,
		}},
		{"duration_without_unit", small + "timeout = '90'\n", []string{
			`t.toml:6:11: jobs.j.timeout: a duration needs a unit (write "90s" for seconds)`,
		}},
		{"fraction_as_duration", small + "timeout = 1.5\n", []string{
			`t.toml:6:11: jobs.j.timeout: a duration is a string with a unit, not a number with a fraction (write "90s")`,
		}},
		{"unknown_unit", small + "timeout = '5 min'\n", []string{
			`t.toml:6:11: jobs.j.timeout: " min" is not a unit of time (units are ms, s, m, h, d, w)`,
		}},
		{"no_duration", small + "timeout = '0s'\n", []string{
			`t.toml:6:11: jobs.j.timeout: the duration is zero (write "off")`,
		}},
		{"bare_number_as_size", small + "limits.memory = 64\n", []string{
			`t.toml:6:17: jobs.j.limits.memory: a size is a string with a unit (write "64B" for bytes or "64MiB")`,
		}},
		{"size_out_of_range", small + "limits.memory = '5GiB'\n", []string{
			`t.toml:6:17: jobs.j.limits.memory: 5GiB is out of range (write "64KiB" to "4GiB")`,
		}},
		{"number_in_quotes", small + "shards = '3'\n", []string{
			"t.toml:6:10: jobs.j.shards: must be a whole number, not a string (write 3 without quotes)",
		}},
		{"number_out_of_range", small + "shards = 0\n", []string{
			"t.toml:6:10: jobs.j.shards: 0 is out of range (write 1 to 100000)",
		}},
		{"flag_in_quotes", small + "failover = 'true'\n", []string{
			"t.toml:6:12: jobs.j.failover: must be true or false, not a string (write true without quotes)",
		}},
		{"number_as_text", small + "param = 5\n", []string{
			`t.toml:6:9: jobs.j.param: must be a string, not a number (write "5")`,
		}},
		{"number_as_setting", small + "config = { a = 'x', b = 5 }\n", []string{
			`t.toml:6:25: jobs.j.config.b: must be a string, not a number (write "5")`,
		}},
		{"string_as_list", "include = 'x'\n", []string{
			`t.toml:1:11: include: must be a list of strings, not a string (write ["a", "b"])`,
		}},
		{"number_in_list", "[host.allow]\nenv = ['A',\n  7]\n", []string{
			`t.toml:3:3: host.allow.env[1]: must be a string, not a number (write "7")`,
		}},
		{"value_as_table", "server = 3\n", []string{
			"t.toml:1:1: server: must be a table, not a number (write [server])",
		}},
		{"array_of_tables", "[[jobs]]\nname = 'x'\n", []string{
			"t.toml:1:3: jobs: must be a table, not a list of tables (write [jobs.<name>])",
		}},
		{"unknown_word", small + "overlap = 'queue'\n", []string{
			`t.toml:6:11: jobs.j.overlap: "queue" is not known here (did you mean "queue-one"?)`,
		}},
		{"newer_schema", "schema = 2\n", []string{
			"t.toml:1:10: schema: 2 is out of range (write 1)",
		}},

		{"unset_variable", small + "param = 'x${NO}'\n", []string{
			"t.toml:6:9: jobs.j.param: variable NO is not set (set it, or write ${NO:-default})",
		}},
		{"needed_variable", small + "config.token = '${NO:?ask the team}'\n", []string{
			"t.toml:6:16: jobs.j.config.token: variable NO is not set: ask the team (set NO)",
		}},
		{"lone_dollar", small + "param = '5$'\n", []string{
			"t.toml:6:9: jobs.j.param: a dollar sign without a variable (write ${NAME} for a variable, $$ for a dollar)",
		}},
		{"open_brace", small + "param = '${A'\n", []string{
			"t.toml:6:9: jobs.j.param: ${ has no closing brace (write ${NAME}, or $$ for a dollar)",
		}},
		{"unknown_operator", small + "param = '${A:+x}'\n", []string{
			`t.toml:6:9: jobs.j.param: ":+" means nothing in ${A:+x} (write ${A:-default} or ${A:?message})`,
		}},
		{"bad_name_of_variable", small + "param = '${1}'\n", []string{
			`t.toml:6:9: jobs.j.param: "1" is not the name of a variable (names have letters, digits and underscores)`,
		}},

		{"missing_cron_and_module", "[jobs.j]\n", []string{
			`t.toml:1:7: jobs.j: cron is missing (write cron = "0 0 2 * * ?", or schedule = "manual" for a job that only a trigger runs)`,
			`t.toml:1:7: jobs.j: module is missing (write module = "<name>" and a table [modules.<name>])`,
		}},
		{"missing_source", "[modules.m]\n", []string{
			`t.toml:1:10: modules.m: source is missing (write source = "file:path/to/module.wasm")`,
		}},
		{"cron_of_a_manual_job", small + "schedule = 'manual'\n", []string{
			"t.toml:6:12: jobs.j.schedule: a job with a cron is not manual (remove one of them)",
		}},
		{"empty_cron", strings.Replace(small, "0 0 2 * * ?", " ", 1), []string{
			`t.toml:5:8: jobs.j.cron: the cron is empty (write schedule = "manual" for a job that only a trigger runs)`,
		}},
		{"unknown_module", "[modules.hello]\nsource = 'x'\n[jobs.j]\nschedule = 'manual'\nmodule = 'helo'\n", []string{
			`t.toml:5:10: jobs.j.module: there is no module "helo" (did you mean "hello"?)`,
		}},
		{"module_without_table", strings.Replace(small, "modules.m", "modules.other", 1), []string{
			`t.toml:4:10: jobs.j.module: there is no module "m" (add [modules.m])`,
		}},
		{"bad_digest", "[modules.m]\nsource = 'x'\nsha256 = 'abc'\n", []string{
			"t.toml:3:10: modules.m.sha256: not a SHA-256 digest (write the 64 digits that sha256sum prints)",
		}},
		{"keys_of_modules", "[host]\nmodule_keys = ['RW', 'RWTa9r0txty5R4WgGGpg6n6Oma20JKaCCO3vtSgFqaGRTcbKIA9BwUck']\n[modules.m]\nsource = 'x'\nkeys = ['RWQ+7keo/415gOC9yI7pwLYIZYwQtDYsES6o9fxWOE+ZTnpQ7p77IEwg', 'a b']\n[modules.n]\nsource = 'x'\nkeys = []\n", []string{
			`t.toml:2:15: host.module_keys: "RW" is not a public key of minisign (write the line of 56 characters that minisign -G prints, which begins with RW)`,
			`t.toml:5:8: modules.m.keys: "a b" is not a public key of minisign (write the line of 56 characters that minisign -G prints, which begins with RW)`,
			"t.toml:5:8: modules.m.keys: \"RWQ+7keo/415gOC9yI7pwLYIZYwQtDYsES6o9fxWOE+ZTnpQ7p77IEwg\" may sign no module of this server (add it to [host] module_keys)",
			"t.toml:8:8: modules.n.keys: no key is named (name one, or remove the list if modules need no signature)",
		}},
		{"item_beyond_shards", small + "shards = 2\nitem_params = { 0 = 'a', 2 = 'c' }\n", []string{
			"t.toml:7:30: jobs.j.item_params.2: there is no item 2 (with shards = 2 the items are 0 to 1)",
		}},
		{"item_beyond_shards_in_text", small + "item_params = '0=a,1=b'\n", []string{
			"t.toml:6:15: jobs.j.item_params: there is no item 1 (set shards; without it there is item 0 only)",
		}},
		{"item_twice", small + "shards = 2\nitem_params = '0=a,1=b, +0 = c,'\n", []string{
			"t.toml:7:15: jobs.j.item_params: item 0 is listed twice (remove one; ElasticJob would take the last)",
		}},
		{"item_is_no_number", small + "item_params = { a = 'x' }\n", []string{
			"t.toml:6:21: jobs.j.item_params.a: \"a\" is not the number of an item (write { 0 = \"a\", 1 = \"b\" })",
		}},

		{"dir_above_limit", small + "allow.dirs = ['ro:/etc:/etc']\n", []string{
			`t.toml:6:15: jobs.j.allow.dirs[0]: the directory /etc is more than [host.allow] gives (add "ro:/etc" to dirs in [host.allow])`,
		}},
		{"dir_next_to_limit", small + "allow.dirs = ['ro:/srv/a/../b:/x', 'ro:/srv/ab:/y']\n[host.allow]\ndirs = ['ro:/srv/a']\n", []string{
			`t.toml:6:15: jobs.j.allow.dirs[0]: the directory /srv/b is more than [host.allow] gives (add "ro:/srv/b" to dirs in [host.allow])`,
			`t.toml:6:36: jobs.j.allow.dirs[1]: the directory /srv/ab is more than [host.allow] gives (add "ro:/srv/ab" to dirs in [host.allow])`,
		}},
		{"dir_for_writing", small + "allow.dirs = ['x', 'rw:/srv/a:/srv', 'rw:/srv/b:/b']\n[host.allow]\ndirs = ['ro:/srv', 'rw:/srv/b', 'wo:/c']\n", []string{
			`t.toml:6:15: jobs.j.allow.dirs[0]: "x" is not a grant (write "ro:/directory/of/the/server:/path/for/the/guest")`,
			`t.toml:8:33: host.allow.dirs[2]: "wo:/c" is not a grant (write "ro:/directory" or "rw:/directory")`,
		}},
		{"dir_for_writing_above_limit", small + "allow.dirs = ['rw:/srv/a:/srv', 'rw:/srv/b:/b']\n[host.allow]\ndirs = ['ro:/srv', 'rw:/srv/b']\n", []string{
			`t.toml:6:15: jobs.j.allow.dirs[0]: writing to the directory /srv/a is more than [host.allow] gives (add "rw:/srv/a" to dirs in [host.allow])`,
		}},
		{"dirs_of_the_server", small + "allow.dirs = ['rw:/:/a', 'rw:/d/registry:/b', 'rw:/d2:/c', 'ro:/d:/d', 'ro:/k:/e', 'rw:/m:/f', 'ro:/m:/g']\n[host.allow]\ndirs = ['rw:/']\n[host]\nsecrets.a = 'file:/k/key'\n[modules.n]\nsource = 'file:/m/n.wasm'\n[server]\ndata_dir = '/d'\n", []string{
			"t.toml:6:15: jobs.j.allow.dirs[0]: no job may reach the data of this server, /d (grant another directory)",
			"t.toml:6:26: jobs.j.allow.dirs[1]: no job may reach the data of this server, /d (grant another directory)",
			"t.toml:6:60: jobs.j.allow.dirs[3]: no job may reach the data of this server, /d (grant another directory)",
			"t.toml:6:72: jobs.j.allow.dirs[4]: no job may reach the file of a secret, /k/key (grant another directory)",
			"t.toml:6:84: jobs.j.allow.dirs[5]: no job may write to a module, /m/n.wasm (grant another directory)",
		}},
		{"other_grants_above_limit", small + "allow = { env = { TZ = 'UTC' }, clock = 'real', random = true }\n", []string{
			`t.toml:6:24: jobs.j.allow.env.TZ: the variable TZ is more than [host.allow] gives (add "TZ" to env in [host.allow])`,
			`t.toml:6:41: jobs.j.allow.clock: the real clock is more than [host.allow] gives (write clock = "real" in [host.allow])`,
			"t.toml:6:58: jobs.j.allow.random: randomness is more than [host.allow] gives (write random = true in [host.allow])",
		}},

		{"later_tables", "[server]\ntls = { cert = 'x' }\n", []string{
			"t.toml:2:1: server.tls: not in this release (write [admin.tls])",
		}},
		{"later_sources", "[modules.a]\nsource = 'https://x/y'\n[modules.b]\nsource = 'oci://x/y'\n[modules.c]\nsource = 'ftp://x'\n[modules.d]\nsource = 'file:'\n[modules.e]\nsource = 'oci://ann:secret@x/y:1'\n", []string{
			`t.toml:2:10: modules.a.source: https is not in this release (write "file:path/to/module.wasm")`,
			`t.toml:4:10: modules.b.source: "oci://x/y" is not a reference to an artifact (write "oci://registry.example/report:1.4.0", and @sha256:… after that to pin it)`,
			`t.toml:6:10: modules.c.source: "ftp" is not a source of modules (write "file:path/to/module.wasm", or "oci://registry.example/report:1.4.0")`,
			`t.toml:8:10: modules.d.source: the path is empty (write "file:path/to/module.wasm")`,
			`t.toml:10:10: modules.e.source: the reference has credentials in it, so it is not shown (remove them, and use docker login, or OCI_USER and OCI_PASSWORD)`,
		}},
		{"secret", small + "config.token = 'secret://env:T'\n", []string{
			"t.toml:6:16: jobs.j.config.token: secret:// is not in this release (write ${NAME} to take it from the environment)",
		}},
		{"monitor_ports", small + "monitor_port = 99999\n[jobs.k]\nmodule = 'm'\nschedule = 'manual'\nmonitor_port = 9888\n[jobs.l]\nmodule = 'm'\nschedule = 'manual'\nmonitorPort = 1\nmonitor_port = 9888\n[server]\nmonitor_ip = 'localhost'\n", []string{
			`t.toml:6:16: jobs.j.monitor_port: 99999 is out of range (write 1 to 65535)`,
			`t.toml:14:1: jobs.l.monitorPort: unknown key (did you mean "monitor_port"?)`,
			`t.toml:15:16: jobs.l.monitor_port: the job k has this port (write another port)`,
			`t.toml:17:14: server.monitor_ip: "localhost" is not an IP address (write an address such as "10.0.0.7")`,
		}},
		{"retries", small + "retry = { attempts = 0, backoff = '1m', max_backoff = '1s', max = 3 }\n[jobs.k]\nmodule = 'm'\nschedule = 'manual'\nretry = 3\n", []string{
			`t.toml:6:22: jobs.j.retry.attempts: 0 is out of range (write 1 to 100)`,
			`t.toml:6:55: jobs.j.retry.max_backoff: 1s is less than backoff, 1m0s`,
			`t.toml:6:61: jobs.j.retry.max: unknown key (known here: attempts, backoff, max_backoff, only_asked)`,
			`t.toml:10:1: jobs.k.retry: must be a table, not a number (write [jobs.k.retry])`,
		}},
		{"empty_path", "[server]\ndata_dir = ''\n", []string{
			"t.toml:2:12: server.data_dir: the path is empty (remove it)",
		}},
		{"near_word", small + "overlap = 'skpi'\n", []string{
			`t.toml:6:11: jobs.j.overlap: "skpi" is not known here (did you mean "skip"?)`,
		}},
		{"types", small + "param = [[1]]\nclass = 1.5\ndescription = true\nstrategy = 1979-05-27\nitem_params = true\nkind = 1\nconfig = 'x'\nlimits.memory = 1.5\nshards = 1.5\n", []string{
			"t.toml:6:9: jobs.j.param: must be a string, not a list (put it in quotes)",
			"t.toml:7:9: jobs.j.class: must be a string, not a number with a fraction (put it in quotes)",
			"t.toml:8:15: jobs.j.description: must be a string, not true or false (put it in quotes)",
			"t.toml:9:12: jobs.j.strategy: must be a string, not a date (put it in quotes)",
			`t.toml:10:15: jobs.j.item_params: must be a table or a string, not true or false (write { 0 = "a", 1 = "b" })`,
			`t.toml:11:8: jobs.j.kind: must be a string, not a number (write "simple", "dataflow" or "script")`,
			`t.toml:12:10: jobs.j.config: must be a table of strings, not a string (write { name = "text" })`,
			`t.toml:13:17: jobs.j.limits.memory: a size is a string with a unit, not a number with a fraction (write "64MiB")`,
			"t.toml:14:10: jobs.j.shards: must be a whole number, not a number with a fraction (write a number from 1 to 100000)",
		}},
		{"elasticjob_spellings", small + "jobParameter = ''\njobShardingStrategyClass = ''\nreconcileIntervalMinutes = 1\nmaxTimeDiffSeconds = 1\njobClass = ''\njobType = ''\n", []string{
			`t.toml:6:1: jobs.j.jobParameter: unknown key (did you mean "param"?)`,
			`t.toml:7:1: jobs.j.jobShardingStrategyClass: unknown key (did you mean "strategy"?)`,
			`t.toml:8:1: jobs.j.reconcileIntervalMinutes: unknown key (did you mean "reconcile_every"?)`,
			`t.toml:9:1: jobs.j.maxTimeDiffSeconds: unknown key (did you mean "max_clock_skew"?)`,
			`t.toml:10:1: jobs.j.jobClass: unknown key (did you mean "class"?)`,
			`t.toml:11:1: jobs.j.jobType: unknown key (did you mean "kind"?)`,
		}},
		{"line_break_in_a_value", small + "allow.dirs = [\"ro:/a\\n\\u001b[1m:/x\"]\n", []string{
			`t.toml:6:15: jobs.j.allow.dirs[0]: the directory /a\n\x1b[1m is more than [host.allow] gives (add "ro:/a\n\x1b[1m" to dirs in [host.allow])`,
		}},
		{"item_parameter_that_cannot_be_written", small + "shards = 2\nitem_params = { 0 = 'a,b', 1 = 1 }\n", []string{
			"t.toml:7:21: jobs.j.item_params.0: item parameters: the parameter \"a,b\" of item 0 contains a comma or an equals sign (put such values into [jobs.<name>.config])",
			`t.toml:7:32: jobs.j.item_params.1: must be a string, not a number (write "1")`,
		}},
		{"not_inheritable", "[defaults]\nshards = 3\ncron = 'x'\n", []string{
			"t.toml:2:1: defaults.shards: cannot be a default (set it in each job)",
			"t.toml:3:1: defaults.cron: cannot be a default (set it in each job)",
		}},
		{"too_deep", "a = " + strings.Repeat("[", 40) + strings.Repeat("]", 40), []string{
			"t.toml:1:37: nested too deeply",
		}},
		{"several_in_one_list", small + "allow.dirs = ['/etc', 5, 'rw:/a:/a', 'ro:/b:/b']\n[host.allow]\ndirs = ['/c', 1, 'ro:/d']\n", []string{
			`t.toml:6:15: jobs.j.allow.dirs[0]: "/etc" is not a grant (write "ro:/directory/of/the/server:/path/for/the/guest")`,
			`t.toml:6:23: jobs.j.allow.dirs[1]: must be a string, not a number (write "5")`,
			// The intended grant limit is unknown, so no grant is reported to exceed it.
			`t.toml:8:9: host.allow.dirs[0]: "/c" is not a grant (write "ro:/directory" or "rw:/directory")`,
			`t.toml:8:15: host.allow.dirs[1]: must be a string, not a number (write "1")`,
		}},
		{"several_in_one_table", small + "shards = 2\nitem_params = { 1 = 1, 5 = 'a' }\n", []string{
			`t.toml:7:21: jobs.j.item_params.1: must be a string, not a number (write "1")`,
			"t.toml:7:28: jobs.j.item_params.5: there is no item 5 (with shards = 2 the items are 0 to 1)",
		}},
		{"less_than_nothing", small + "timeout = -5\nlimits.memory = -1\n", []string{
			`t.toml:6:11: jobs.j.timeout: a duration is a string with a unit, not a number (write "90s")`,
			`t.toml:7:17: jobs.j.limits.memory: a size is a string with a unit, not a number (write "64MiB")`,
		}},
		{"variable_in_a_default", small + "param = '${A:-${B}}'\n", []string{
			"t.toml:6:9: jobs.j.param: the default of ${A cannot hold a variable (give A a value, or write the default itself)",
		}},
		{"include_of_nothing", "include = ['', 1]\n", []string{
			"t.toml:1:11: include: cannot be used here (load the file from disk)",
			"t.toml:1:16: include[1]: must be a string, not a number (write \"1\")",
		}},
		{"include_of_a_text", "include = ['x.toml']\n", []string{
			"t.toml:1:11: include: cannot be used here (load the file from disk)",
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, faults(t, tt.text)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Faults found by other packages are reported at their place, in the words of the package.
func TestFaultsFoundByOthers(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"cron", strings.Replace(small, "0 0 2 * * ?", "0 0 24 * * ?", 1), "t.toml:5:8: jobs.j.cron: "},
		{"cron_of_other_dialect", small + "dialect = 'unix'\n", "t.toml:5:8: jobs.j.cron: "},
		{"cron_that_never_fires", strings.Replace(small, "0 0 2 * * ?", "0 0 0 31 2 ?", 1), "t.toml:5:8: jobs.j.cron: never fires"},
		{"timezone", small + "timezone = 'Berlin'\n", "t.toml:6:12: jobs.j.timezone: "},
		{"local_timezone", small + "timezone = 'Local'\n", "t.toml:6:12: jobs.j.timezone: "},
		{"timezone_in_defaults", small + "[defaults]\ntimezone = 'Berlin'\n", "t.toml:7:12: defaults.timezone: "},
		{"strategy", small + "strategy = 'avrage'\n", "t.toml:6:12: jobs.j.strategy: "},
		{"job_name", strings.Replace(small, "jobs.j", "jobs.'a/b'", 1), `t.toml:3:7: jobs."a/b": the name `},
		{"job_name_of_a_clusters_state", strings.Replace(small, "jobs.j", "jobs.'a.wasmjobd'", 1), `t.toml:3:7: jobs."a.wasmjobd": the name "a.wasmjobd" ends in .wasmjobd`},
		{"reconcile", small + "reconcile_every = '90s'\n", "t.toml:6:19: jobs.j.reconcile_every: "},
		{"item_params", small + "item_params = '0=a=b'\n", "t.toml:6:15: jobs.j.item_params: "},
		{"text_that_the_layout_cannot_have", "registry.layout = '3'\n" + small + "description = \"a\\u0001b\"\n", `t.toml:4:7: jobs.j: write configuration of job "j": "description"`},
		{"guest_path", small + "allow.dirs = ['ro:/srv:srv']\n[host.allow]\ndirs = ['ro:/']\n", "t.toml:6:15: jobs.j.allow.dirs[0]: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := faults(t, tt.text); len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("got %q, want one that begins with %q", got, tt.want)
			}
		})
	}
}

func TestAWrongZoneDoesNotHideAWrongCron(t *testing.T) {
	t.Parallel()
	got := faults(t, strings.Replace(small, "0 0 2 * * ?", "61 0 2 * * ?", 1)+"timezone = 'Berlin'\n")
	if len(got) != 2 || !strings.HasPrefix(got[0], "t.toml:5:8: jobs.j.cron: ") || !strings.HasPrefix(got[1], "t.toml:6:12: jobs.j.timezone: ") {
		t.Errorf("got %q", got)
	}
}

func TestAVariableThatMayMeanTwoJobs(t *testing.T) {
	t.Parallel()
	two := small + "[jobs.a-b]\nmodule = 'm'\nschedule = 'manual'\n[jobs.a_b]\nmodule = 'm'\nschedule = 'manual'\n"
	got := faults(t, two, "WASMJOBD_JOBS__A_B__SHARDS=2")
	want := []string{`WASMJOBD_JOBS__A_B__SHARDS: jobs.a-b: the variable is ambiguous: "a-b" or "a_b" (set it in a file, or give one of them another name)`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestFaultsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	got := faults(t, small,
		"WASMJOBD_SERVER__DRAIN_TIMOUT=1s",
		"WASMJOBD_SERVER__DRAIN_TIMEOUT=1",
		"WASMJOBD_SERVER__LISTEN=:80",
		"WASMJOBD_SERVER__LOG=info",
		"WASMJOBD_SERVER__TLS__CERT=x",
		"WASMJOBD_JOBS__K__SHARDS=1",
		"WASMJOBD_JOBS__J__SHARDS=many",
		"WASMJOBD_JOBS__J__CONFIG=x",
		"WASMJOBD_JOBS__J__CONFIG__URL=x",
		"WASMJOBD_INCLUDE__X=x",
	)
	want := []string{
		"WASMJOBD_INCLUDE__X: include: this is a value, not a table (let the name of the variable end here)",
		"WASMJOBD_JOBS__J__CONFIG: jobs.j.config: a table cannot be set by a variable (set it in a file; ${NAME} takes a variable of another name)",
		"WASMJOBD_JOBS__J__CONFIG__URL: jobs.j.config: a table cannot be set by a variable (set it in a file; ${NAME} takes a variable of another name)",
		"WASMJOBD_JOBS__J__SHARDS: jobs.j.shards: must be a whole number, not a string (write a number from 1 to 100000)",
		"WASMJOBD_JOBS__K__SHARDS: jobs.k: a variable cannot define it (define it in a file)",
		`WASMJOBD_SERVER__DRAIN_TIMEOUT: server.drain_timeout: a duration needs a unit (write "1s" for seconds)`,
		`WASMJOBD_SERVER__DRAIN_TIMOUT: server.drain_timout: unknown key (did you mean "drain_timeout"?)`,
		"WASMJOBD_SERVER__LISTEN: server.listen: not in this release (write listen in [admin])",
		"WASMJOBD_SERVER__LOG: server.log: this is a table, a variable sets one key (append __ and a key)",
		"WASMJOBD_SERVER__TLS__CERT: server.tls: not in this release (write [admin.tls])",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
