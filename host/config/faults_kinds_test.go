package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFaultsOfKinds has the faults of keys for some kinds of jobs, of grants, and of [host].
func TestFaultsOfKinds(t *testing.T) {
	t.Parallel()
	const native = "[modules.m]\nsource = 'm'\n[host]\nallow_native_scripts = true\n[jobs.j]\nschedule = 'manual'\nkind = 'script'\n"
	tests := []struct {
		name, text string
		want       []string
	}{
		{"keys_of_dataflow", small + "streaming = false\nfetch_count = 1\nconcurrency = 1\nlimits.batch = '1MiB'\nkind = 'script'\n", []string{
			`t.toml:6:13: jobs.j.streaming: belongs to jobs of kind dataflow (write kind = "dataflow", or remove it)`,
			`t.toml:7:15: jobs.j.fetch_count: belongs to jobs of kind dataflow (write kind = "dataflow", or remove it)`,
			`t.toml:8:15: jobs.j.concurrency: belongs to jobs of kind dataflow (write kind = "dataflow", or remove it)`,
			`t.toml:9:16: jobs.j.limits.batch: belongs to jobs of kind dataflow (write kind = "dataflow", or remove it)`,
		}},
		{"keys_of_scripts", small + "args = ['a']\n", []string{
			`t.toml:6:8: jobs.j.args: belongs to jobs of kind script (write kind = "script", or remove it)`,
		}},
		{"pool_of_a_script", small + "kind = 'script'\nlimits.instance = { pool = 1 }\n", []string{
			`t.toml:7:19: jobs.j.limits.instance: belongs to jobs of kind simple or dataflow (write kind = "simple", or remove it)`,
		}},
		{"of_an_unknown_kind", small + "kind = 'dateflow'\nstreaming = true\nargs = ['a']\nlimits.batch = '1MiB'\n", []string{
			`t.toml:6:8: jobs.j.kind: "dateflow" is not known here (did you mean "dataflow"?)`,
		}},
		{"elasticjob_spellings", small + "streamingProcess = true\nscriptCommandLine = ''\nfetchDataCount = 1\nconcurrentDataProcessThreadCount = 1\n", []string{
			`t.toml:6:1: jobs.j.streamingProcess: unknown key (did you mean "streaming"?)`,
			`t.toml:7:1: jobs.j.scriptCommandLine: unknown key (did you mean "command"?)`,
			`t.toml:8:1: jobs.j.fetchDataCount: unknown key (did you mean "fetch_count"?)`,
			`t.toml:9:1: jobs.j.concurrentDataProcessThreadCount: unknown key (did you mean "concurrency"?)`,
		}},
		{"fetch_count_out_of_range", small + "kind = 'dataflow'\nfetch_count = 0\nconcurrency = 257\n", []string{
			"t.toml:7:15: jobs.j.fetch_count: 0 is out of range (write 1 to 100000)",
			"t.toml:8:15: jobs.j.concurrency: 257 is out of range (write 1 to 256)",
		}},
		{"catch_up_beside_elasticjob", small + "class = 'com.example.Job'\ncatch_up = 'last'\n", []string{
			`t.toml:7:12: jobs.j.catch_up: "last" cannot be combined with class: what ElasticJob ran while no server of ours was there is not recorded (leave it out as long as the job is shared with them)`,
		}},
		{"catch_up_all_and_replace", small + "misfire = false\noverlap = 'replace'\ncatch_up = 'all'\n[jobs.k]\nmodule = 'm'\nschedule = 'manual'\ncatch_up = 'some'\n", []string{
			`t.toml:8:12: jobs.j.catch_up: "all" cannot be combined with overlap = "replace": each instant that comes would end the run that is being caught up (write "last", or misfire = true)`,
			`t.toml:12:12: jobs.k.catch_up: "some" is not known here (write "none", "last" or "all")`,
		}},
		{"after_a_name_like_its_own", "[modules.m]\nsource = 'file:m.wasm'\n[jobs.loads]\nmodule = 'm'\nafter = ['load']\n[jobs.other]\nmodule = 'm'\nschedule = 'manual'\n", []string{
			`t.toml:5:10: jobs.loads.after[0]: the file has no job "load" (name a job of this file)`,
		}},
		{"after", small + "after = ['j']\n[jobs.k]\nmodule = 'm'\nafter = ['i', 'kk', 'one', 'q']\n[jobs.kk]\nmodule = 'm'\nafter = []\n[jobs.p]\nmodule = 'm'\nafter = ['k', 'k', 'far away']\nclass = 'C'\n[jobs.q]\nmodule = 'm'\nschedule = 'manual'\n", []string{
			"t.toml:5:8: jobs.j.cron: a job with after has no schedule of its own: its instants are those of the jobs before it (remove one of them)",
			`t.toml:6:10: jobs.j.after[0]: "j" is not the name of another job, or is listed twice (name each job once, and not the job itself)`,
			`t.toml:9:10: jobs.k.after[0]: the file has no job "i" (did you mean "j"?)`,
			`t.toml:9:21: jobs.k.after[2]: the file has no job "one" (name a job of this file)`,
			`t.toml:9:28: jobs.k.after[3]: the job "q" has no instants: only a trigger runs it (give it a cron, or trigger both)`,
			`t.toml:12:9: jobs.kk.after: names no job (write after = ["a-job"], or schedule = "manual" for a job that only a trigger runs)`,
			"t.toml:15:9: jobs.p.after: cannot be combined with class: ElasticJob knows nothing of jobs that run after others (leave it out as long as the job is shared with them)",
			`t.toml:15:15: jobs.p.after[1]: "k" is not the name of another job, or is listed twice (name each job once, and not the job itself)`,
			`t.toml:15:20: jobs.p.after[2]: the file has no job "far away" (name a job of this file)`,
		}},
		{"after_in_a_cycle", small + "[jobs.l]\nmodule = 'm'\nafter = ['n']\n[jobs.n]\nmodule = 'm'\nafter = ['o', 'j']\n[jobs.o]\nmodule = 'm'\nafter = ['j', 'l', 'n']\n", []string{
			"t.toml:14:15: jobs.o.after[1]: this is a cycle, in which no job would ever run: l after n after o after l (remove one of these)",
			"t.toml:14:20: jobs.o.after[2]: this is a cycle, in which no job would ever run: n after o after n (remove one of these)",
		}},
		{"days_that_are_none", "[calendars.bank]\ndays = ['2026-02-30', '12-25']\n[calendars.site]\ndays = [5]\n[defaults]\nexcept = ['bnak', '12-24']\n" + small + "[jobs.k]\nmodule = 'm'\nschedule = 'manual'\nexcept = ['bank', 'christmas', '12-26']\n", []string{
			`t.toml:2:9: calendars.bank.days[0]: "2026-02-30" is not a day (write "2026-12-25", "2026-12-24..2027-01-01", or "12-25" for each year)`,
			`t.toml:4:9: calendars.site.days[0]: must be a string, not a number (write "5")`,
			`t.toml:6:11: defaults.except[0]: there is no calendar "bnak" (did you mean "bank"?)`,
			`t.toml:15:19: jobs.k.except[1]: "christmas" is neither a day nor a calendar (write "2026-12-25", "2026-12-24..2027-01-01", "12-25" for each year, or the name of a table [calendars.…])`,
		}},
		{"days_beside_elasticjob", small + "class = 'com.example.Job'\nexcept = ['12-25']\njitter = '25h'\n", []string{
			`t.toml:7:10: jobs.j.except: cannot be combined with class: members of ElasticJob fire at each instant of the cron itself (leave it out as long as the job is shared with them)`,
			`t.toml:8:10: jobs.j.jitter: 25h0m0s is too much (use at most 24h0m0s)`,
		}},
		{"no_day_left", small + "except = ['2000-01-01..2999-12-31', '12-25']\njitter = '1500ms'\n", []string{
			`t.toml:7:10: jobs.j.jitter: 1.5s is not a multiple of 1s, the unit of the registry (write 2s)`,
		}},
		{"bad_args", small + "kind = 'script'\nargs = ['a', 5, \"\\u0000\"]\n", []string{
			`t.toml:7:14: jobs.j.args[1]: must be a string, not a number (write "5")`,
			"t.toml:7:17: jobs.j.args[2]: is not UTF-8, or has a NUL",
		}},

		{"command_not_allowed", strings.Replace(native, "true", "false", 1) + "command = 'echo'\n", []string{
			"t.toml:8:11: jobs.j.command: this server does not allow commands of the operating system, which run without a sandbox (write allow_native_scripts = true in [host], or give the job a module)",
		}},
		{"command_of_a_simple_job", strings.Replace(native, "kind = 'script'\n", "", 1) + "command = 'echo'\n", []string{
			`t.toml:7:11: jobs.j.command: belongs to jobs of kind script (write kind = "script", or remove it)`,
		}},
		{"command_and_module", native + "command = 'echo'\nmodule = 'm'\nargs = ['a']\n", []string{
			"t.toml:8:11: jobs.j.command: a command takes the place of the module (remove one of them)",
			"t.toml:10:8: jobs.j.args: the arguments of a command belong to its line (append them to command)",
		}},
		{"empty_command", native + "command = ' '\n", []string{
			`t.toml:8:11: jobs.j.command: the command is empty (write command = "/path/to/program argument")`,
		}},
		{"open_quote", native + "command = 'echo \"a'\n", []string{
			`t.toml:8:11: jobs.j.command: the command line has a " that is not closed (write the program and its arguments, in quotes where they have blanks)`,
		}},
		{"command_of_another_type", native + "command = 5\nlimits.memory = '1MiB'\n", []string{
			`t.toml:8:11: jobs.j.command: must be a string, not a number (write "5")`,
			"t.toml:9:17: jobs.j.limits.memory: a command of the operating system runs outside of the sandbox, so this has no effect (remove it)",
		}},
		{"sandbox_of_a_command", native + "command = 'echo'\nallow.random = true\nallow.dirs = ['ro:/a:/a']\nlimits = { fuel = 5, grace = '1s' }\n[host.allow]\nrandom = true\ndirs = ['ro:/a']\n", []string{
			"t.toml:9:16: jobs.j.allow.random: a command of the operating system runs outside of the sandbox, so this has no effect (remove it)",
			"t.toml:10:14: jobs.j.allow.dirs: a command of the operating system runs outside of the sandbox, so this has no effect (remove it)",
			"t.toml:11:19: jobs.j.limits.fuel: a command of the operating system runs outside of the sandbox, so this has no effect (remove it)",
		}},

		{"unknown_strategy_module", small + "strategy_module = 'mm'\nstrategy_error = 'fail'\n", []string{
			`t.toml:6:19: jobs.j.strategy_module: there is no module "mm" (did you mean "m"?)`,
			`t.toml:7:18: jobs.j.strategy_error: "fail" is not known here (write "average" or "keep")`,
		}},
		{"strategy_module_in_defaults", small + "[defaults]\nstrategy_module = 'other'\n", []string{
			`t.toml:7:19: defaults.strategy_module: there is no module "other" (add [modules.other])`,
		}},
		{"strategy_error_alone", small + "strategy_error = 'keep'\n", []string{
			"t.toml:6:18: jobs.j.strategy_error: strategy_error has no effect without strategy_module (remove it)",
		}},

		{"instance", small + "limits.instance = 'pool'\n", []string{
			`t.toml:6:19: jobs.j.limits.instance: "pool" is not known here (write "per-run" or { pool = 4, max_uses = 100 })`,
		}},
		{"instance_as_number", small + "limits.instance = 4\n", []string{
			`t.toml:6:19: jobs.j.limits.instance: must be a table, not a number (write "per-run" or { pool = 4, max_uses = 100 })`,
		}},
		{"instance_inside", small + "limits.instance = { pool = 0, max_uses = '5', size = 3 }\n", []string{
			"t.toml:6:28: jobs.j.limits.instance.pool: 0 is out of range (write 1 to 1000)",
			"t.toml:6:42: jobs.j.limits.instance.max_uses: must be a whole number, not a string (write 5 without quotes)",
			"t.toml:6:54: jobs.j.limits.instance.size: unknown key (known here: max_uses, pool)",
		}},
		{"instance_without_pool", small + "[jobs.j.limits.instance]\nmax_uses = 5\n", []string{
			`t.toml:6:16: jobs.j.limits.instance: pool is missing (write "per-run" or { pool = 4, max_uses = 100 })`,
		}},
		{"limits_out_of_range", small + "[jobs.j.limits]\nstate_value = '1MiB'\nhttp_calls = 0\nhttp_body = 5\nopen_files = '5'\n", []string{
			`t.toml:7:15: jobs.j.limits.state_value: 1MiB is out of range (write "1B" to "256KiB")`,
			"t.toml:8:14: jobs.j.limits.http_calls: 0 is out of range (write 1 to 1000000)",
			`t.toml:9:13: jobs.j.limits.http_body: a size is a string with a unit (write "5B" for bytes or "5MiB")`,
			"t.toml:10:14: jobs.j.limits.open_files: must be a whole number, not a string (write 5 without quotes)",
		}},

		{"state_and_secrets_above_limit", small + "allow = { state = true, secrets = ['a', 'b'] }\n[host.allow]\nsecrets = ['b']\n[host.secrets]\na = 'env:A'\nb = 'env:B'\n", []string{
			"t.toml:6:19: jobs.j.allow.state: state is more than [host.allow] gives (write state = true in [host.allow])",
			`t.toml:6:36: jobs.j.allow.secrets[0]: the secret "a" is more than [host.allow] gives (add "a" to secrets in [host.allow])`,
		}},
		{"http_above_limit", small + "allow.http = ['https://a.org/v1', 'https://a.org', 'POST https://a.org/v1', 'ftp://a.org', 5]\n[host.allow]\nhttp = ['GET https://a.org', 'https://a.org/v1']\n", []string{
			`t.toml:6:35: jobs.j.allow.http[1]: https://a.org is more than [host.allow] gives (add "https://a.org" to http in [host.allow])`,
			`t.toml:6:77: jobs.j.allow.http[3]: "ftp" is not a scheme that can be granted (write http or https)`,
			`t.toml:6:92: jobs.j.allow.http[4]: must be a string, not a number (write "5")`,
		}},
		{"http_without_limit", small + "allow.http = ['https://a.org/v1']\n", []string{
			`t.toml:6:15: jobs.j.allow.http[0]: https://a.org/v1 is more than [host.allow] gives (add "https://a.org/v1" to http in [host.allow])`,
		}},
		{"limit_of_http", small + "allow.http = ['https://a.org']\n[host.allow]\nhttp = ['https://*/x', 'a.org']\nprivate_hosts = ['10.0.0.1', 'a b', 5, '*.internal']\n", []string{
			// The intended grant limit is unknown, so no grant is reported to exceed it.
			"t.toml:8:9: host.allow.http[0]: a grant for every public host needs https, the default port and no path (write \"https://*\", or name hosts)",
			"t.toml:8:24: host.allow.http[1]: it has no scheme (write \"https://host/path\" or \"GET https://host/path\")",
			"t.toml:9:18: host.allow.private_hosts[0]: a private host is listed by its name (grant an address itself)",
			`t.toml:9:30: host.allow.private_hosts[1]: the host "a b" has a character that is invalid in a name (write a DNS name or an address)`,
			"t.toml:9:37: host.allow.private_hosts[2]: must be a string, not a number (write \"5\")",
		}},
		{"unknown_secrets", "[host.allow]\nsecrets = ['tokn', 'zzz', 5]\n[host.secrets]\ntoken = 'env:A'\n", []string{
			`t.toml:2:12: host.allow.secrets[0]: there is no secret "tokn" (did you mean "token"?)`,
			`t.toml:2:20: host.allow.secrets[1]: there is no secret "zzz" (add zzz = "env:NAME" to [host.secrets])`,
			`t.toml:2:27: host.allow.secrets[2]: must be a string, not a number (write "5")`,
		}},
		{"secret_granted_twice", small + "allow.secrets = ['a', 'a']\n[host]\nallow.secrets = ['a']\nsecrets.a = 'env:A'\n", []string{
			`t.toml:6:23: jobs.j.allow.secrets[1]: the secret "a" is listed twice`,
		}},
		// The value may be the secret itself, so no message shows it.
		{"secrets_that_are_written_out", "[host.secrets]\na = 'hunter2'\nb = 42\nc = 'env:hunter 2'\nd = 'file:'\n'e f' = 'env:A'\n", []string{
			`t.toml:2:5: host.secrets.a: a secret is named here, not written (write "env:NAME" or "file:path/to/file")`,
			`t.toml:3:5: host.secrets.b: must be a string, not a number (write "env:NAME")`,
			`t.toml:4:5: host.secrets.c: after env: expected the name of a variable (write "env:NAME")`,
			`t.toml:5:5: host.secrets.d: a secret is named here, not written (write "env:NAME" or "file:path/to/file")`,
			`t.toml:6:9: host.secrets."e f": this cannot be the name of a secret (use up to 64 letters, digits, _, . and -)`,
		}},
		{"secrets_as_text", "[host]\nsecrets = 'hunter2'\n", []string{
			`t.toml:2:11: host.secrets: must be a table of strings, not a string (write { name = "text" })`,
		}},
		{"labels", "[server.labels]\n'a b' = 'x'\nlong = '" + strings.Repeat("x", 257) + "'\nn = 3\n", []string{
			`t.toml:2:9: server.labels."a b": "a b" cannot be the name of a label (use up to 64 letters, digits, _, . and -)`,
			"t.toml:3:8: server.labels.long: the label is too long (use at most 256 bytes)",
			`t.toml:4:5: server.labels.n: must be a string, not a number (write "3")`,
		}},
		{"host", "[host]\nallow_native_scripts = 'yes'\nmemory = '1KiB'\nworkers = 0\n", []string{
			"t.toml:2:24: host.allow_native_scripts: must be true or false, not a string (write true or false)",
			`t.toml:3:10: host.memory: 1KiB is out of range (write "2MiB" to "1048576GiB")`,
			"t.toml:4:11: host.workers: 0 is out of range (write 1 to 10000)",
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

// A default applies to the jobs that can have it; the other jobs are not refused for it.
func TestDefaultsOfOtherKindsAreNotInherited(t *testing.T) {
	t.Parallel()
	f := parse(t, small+`
[jobs.flow]
module = "m"
schedule = "manual"
kind = "dataflow"
[jobs.script]
module = "m"
schedule = "manual"
kind = "script"
[jobs.native]
schedule = "manual"
kind = "script"
command = "echo"
[host]
allow_native_scripts = true
[defaults.limits]
memory = "1MiB"
grace = "1s"
batch = "2MiB"
instance = { pool = 2 }
`)
	for _, j := range f.Jobs {
		l := j.Limits
		got := []bool{l.Memory != 0, l.Grace != 0, l.Batch != 0, l.Pool.Size != 0}
		want := map[string][]bool{
			"j": {true, true, false, true}, "flow": {true, true, true, true},
			"script": {true, true, false, false}, "native": {false, true, false, false},
		}[j.Name]
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", j.Name, d)
		}
	}
}
