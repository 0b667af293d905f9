package scaffold

import "strings"

// configuration returns the jobs.toml of a project, which a server can run unchanged. A line
// that begins with # and no blank is an example of a setting.
func (p Project) configuration(module string) string {
	host, run := "", "" // lines of [host.allow] and the job's allow, and of the job
	switch p.Kind {
	case "simple":
		run = "item_params = { 0 = \"earth\", 1 = \"moon\" }\n"
	case "dataflow":
		host, run = "state = true\n", "streaming = true\n"
	case "script":
		run = "args = [\"north\", \"south\"]\n"
	case "strategy":
		return strings.NewReplacer("@name@", p.Name, "@module@", module).Replace(strategyConfiguration)
	}
	text := strings.NewReplacer("@name@", p.Name, "@module@", module, "@kind@", p.Kind, "@run@", run, "@host@", host).Replace(jobConfiguration)
	if host != "" { // the module needs this grant, so it is no longer an example
		text = strings.ReplaceAll(text, "#"+host, "")
	}
	return text
}

const jobConfiguration = `# Run it with wasmjobd serve --config jobs.toml, check it with wasmjobd validate jobs.toml.

# The most that this server grants to any job.
[host.allow]
@host@#dirs = ["ro:."]
#http = ["https://api.example.com"]
#state = true
#secrets = ["token"]
#env = ["TZ"]
#clock = "real"
#random = true

# Where the values of secrets are: variables of the server, or files.
#[host.secrets]
#token = "env:API_TOKEN"

[modules.@name@]
source = "file:@module@"

[jobs.@name@]
module = "@name@"
kind = "@kind@"
# Seconds, minutes, hours, day of month, month, day of week: every ten seconds.
cron = "0/10 * * * * ?"
shards = 3
timeout = "1m"
@run@
# What the module gets. It has nothing else: no files, no network, no clock.
[jobs.@name@.allow]
@host@#dirs = ["ro:in:/in"]
#http = ["GET https://api.example.com/v1"]
#state = true
#secrets = ["token"]
#env = { TZ = "UTC" }
#clock = "real"
#random = true

# What it reads as its configuration.
#[jobs.@name@.config]
#table = "orders"
`

// A strategy needs a job whose items it assigns; echo needs no module.
const strategyConfiguration = `# Run it with wasmjobd serve --config jobs.toml, check it with wasmjobd validate jobs.toml.

# For the job below, which is a command of the operating system.
[host]
allow_native_scripts = true

# Labels of this server, for the strategy.
#[server.labels]
#weight = "2"

[modules.@name@]
source = "file:@module@"

[jobs.example]
kind = "script"
command = "echo"
# Seconds, minutes, hours, day of month, month, day of week: every ten seconds.
cron = "0/10 * * * * ?"
shards = 7
strategy_module = "@name@"
`
