package admin

import (
	"net/http"
	"slices"

	"github.com/wasmjob/wasmjob/host/operator"
	"github.com/wasmjob/wasmjob/host/trace"
)

// routes returns the table of all routes.
func routes() []route {
	return slices.Concat(jobRoutes(), jobCalls(), moduleRoutes(), serverRoutes(), runRoutes(), historyRoutes(), tokenRoutes(), sessionRoutes(), alertRoutes(), maintenanceRoutes(), aloneRoutes(), []route{
		{
			method: http.MethodPost, path: reloadPath, right: operator.Administer, does: calls(reload), fails: []string{codeInvalid},
			says: `makes the server read its files again, as at SIGHUP. When the server has applied them, the answer has the jobs "added", "changed" and ` +
				`"removed", the number "unchanged" and the keys that "need_restart". If the files have faults, it has all of these`,
			served: func(o *Options) bool { return o.Reload != nil },
		},
		{
			method: http.MethodGet, path: nodesPath, right: operator.Administer, does: shows(readNodes),
			says: `answers with nodes of the registry, in base64, including guests' state. Of several "path" it has the first ones that fit into 4 MiB. ` +
				`The nodes are not read at one moment. Only the socket has this request`,
			query:  []parameter{{name: "path", says: "a path, as in /wasmjobd", many: true, required: true}},
			served: func(o *Options) bool { return o.Nodes },
		},
	})
}

// aloneRoutes are about the server itself.
func aloneRoutes() []route {
	return []route{
		{method: http.MethodGet, path: openAPIPath, right: operator.View, does: openAPIAction(), alone: true, says: "answers with the OpenAPI document of this API"},
		{method: http.MethodGet, path: healthPath, right: operator.View, does: shows(health), alone: true, fails: []string{codeStuck}, says: "answers whether the process works or has to be restarted. The request needs no token"},
		{
			method: http.MethodGet, path: readyPath, right: operator.View, does: shows(ready), alone: true, fails: []string{codeNotReady},
			says:   "answers whether the server can do its work, and to callers with a token what the server lacks. The request needs no token",
			served: func(o *Options) bool { return o.Checks != nil },
		},
		{
			method: http.MethodGet, path: eventsPath, right: operator.View, does: action{givesType: eventsType, status: http.StatusOK, do: follow}, alone: true,
			says: "sends starts and ends of items on all servers as they come. They are server-sent events with the data of `serve --events -`, without parameters; \"instance\" begins with the server's address. " +
				"After 25 s the stream ends. A client that comes back with Last-Event-ID, to any server, misses no event and gets none twice. Three events are about a \"server\", as `server list` names it: " +
				"`gap` says that some of its events may be missing, `silent` with a \"reason\" that its events do not come, and `followed` that they come",
			query:  []parameter{{name: "job", says: "only of this job"}, {name: "server", says: "only of the servers at this address, as `server list` names it"}},
			header: []parameter{{name: lastEventHeader, says: "the id of the last event that the client has", takes: schema{"type": "string"}}},
			served: func(o *Options) bool { return o.Events != nil },
		},
		{
			method: http.MethodGet, path: metricsPath, right: operator.View, does: metricsAction(), alone: true,
			says: "answers with metrics in the text format of Prometheus", served: func(o *Options) bool { return o.Metrics != nil },
		},
	}
}

// jobRoutes are the routes of jobs that are no verbs.
func jobRoutes() []route {
	const job = jobsPath + "/{job}"
	return []route{
		{
			method: http.MethodGet, path: jobsPath, right: operator.View, does: shows(listJobs), fails: []string{codeNotFound},
			says: "answers as `job list`, with a page of jobs by name: \"limit\" jobs (100, at most 1000), and in \"next\" and the header Link the \"cursor\" of the next page. " +
				"With \"state\" a page may have fewer jobs, or none, although there is a next page",
			query: append(pageParameters("jobs"),
				parameter{name: "q", says: "a part of the name"},
				parameter{name: "state", says: "a state of jobs", oneOf: operator.JobStates()},
			),
		},
		{
			method: http.MethodPost, path: jobsPath, right: operator.Administer, does: createAction(), fails: []string{codeInvalid, codeRefused},
			says:   "does what `job create` does. \"toml\" is a configuration with the table of the job \"name\". \"digest\" is the SHA-256 of its module, which was pushed before, or a version as orders@1.4.0. If no server has the module, the answer has a \"warning\"",
			served: func(o *Options) bool { return o.Define != nil },
		},
		{method: http.MethodGet, path: job, right: operator.View, does: showsTagged(showJob), says: "answers as `job show`, with an ETag"},
		{
			method: http.MethodPut, path: job, right: operator.Administer, does: callsJob(applyJob), fails: []string{codeInvalid, codeRefused},
			says: "does what `apply` does for the job. \"toml\" is a configuration with the job's table. \"digest\" is the SHA-256 of the first module of a new job. " +
				"If the text has no kind and layout in [registry], those of the server count, and a job keeps its layout. The answer is what `plan` would have said before",
			served: func(o *Options) bool { return o.Define != nil },
		},
		{method: http.MethodDelete, path: job, right: operator.Administer, does: does(removeJob), says: "does what `job remove` does; \"force\" stands for --force", fails: []string{codeRefused}},
		{
			method: http.MethodPost, path: job + "/runs", right: operator.Operate, does: triggerAction(), fails: []string{codeInvalid, codeRefused},
			says:   "does what `job trigger` does. A second request with the same header `" + keyHeader + "` within a day triggers nothing, and its answer has the header `" + againHeader + "`",
			header: []parameter{keyParameter},
		},
		{
			method: http.MethodGet, path: job + "/explain", right: operator.View, does: shows(explainJob), fails: []string{codeInvalid},
			says: "answers as `job explain`, with the histories of all servers",
			query: []parameter{
				{name: "item", says: "the number of an item; without, all", takes: itemSchema},
				{name: "at", says: "a time in RFC 3339; without, the newest instant that should have come", takes: schema{"type": "string", "format": "date-time"}},
			},
		},
		{method: http.MethodGet, path: job + "/dump", right: operator.Administer, does: action{givesType: textType, status: http.StatusOK, do: dumpJob}, says: "answers as `job dump`, in plain text"},
	}
}

// jobCalls are the verbs of a job.
func jobCalls() []route {
	verb := func(name string, right operator.Right, does action, says string) route {
		return route{method: http.MethodPost, path: jobsPath + "/{job}:" + name, right: right, does: does, says: says, fails: []string{codeInvalid, codeRefused}}
	}
	const switches = ` the job on every server that the job knows, or with "server" on the servers at one address`
	return append(backfillRoutes(jobsPath+"/{job}"), []route{
		verb("pause", operator.Operate, onJob(pauseJob), "does what `job pause` does. \"reason\" says why. The pause ends at the moment \"until\", or after the time \"for\", such as 2h"),
		verb("resume", operator.Operate, jobVerb((*operator.Operator).Resume), "does what `job resume` does"),
		{
			method: http.MethodPost, path: jobsPath + "/{job}:trigger-items", right: operator.Operate, does: callsJob(triggerItems), fails: []string{codeInvalid, codeRefused}, header: []parameter{keyParameter},
			says: "runs the \"items\" now, as `job run --item` does, and answers with the id of their run. Guests get \"param\" in place of the job parameter. " +
				"A second request with the same header `" + keyHeader + "`, items and parameter within a day runs nothing, and its answer has \"again\"",
		},
		verb("retry", operator.Operate, callsJob(retryRun), "does what `job retry` does, for the \"run\" or for the newest run that failed. It retries the \"items\" of that run, or all that failed"),
		verb("cancel", operator.Operate, callsJob(cancelRuns), "does what `job cancel` does, for all open runs or for those of \"run\" and \"item\". With \"now\" the guests get no time to end by themselves"),
		verb("reshard", operator.Operate, jobVerb((*operator.Operator).Reshard), "does what `job reshard` does"),
		verb("disable", operator.Operate, switchJob(true), "disables"+switches),
		verb("enable", operator.Operate, switchJob(false), "enables"+switches),
		verb("shutdown", operator.Operate, callsJob(shutdownJob), `ends a job on some or all of its members. The body has one of three: "server" is an address, "instance" an id, and "all" is true`),
		verb("set-module", operator.Publish, onJob(setModule), "names the next module of a job: \"digest\" is its SHA-256, or a version as orders@1.4.0. The job's servers switch to it when all are ready"),
		verb("rollback-module", operator.Publish, callsJob(rollBackModule), `goes one step back, as `+"`module rollback`"+`, or with "to" to the module of that digest`),
		verb("pin-module", operator.Publish, jobVerb((*operator.Operator).PinModule), "does what `module pin` does"),
		verb("unpin-module", operator.Publish, jobVerb((*operator.Operator).UnpinModule), "does what `module unpin` does"),
		verb("withdraw-module", operator.Publish, onJob(withdrawModule), "withdraws the next module of a job if it has the \"digest\""),
		itemVerb("disable", true),
		itemVerb("enable", false),
		migrateRoute(jobsPath + "/{job}"),
	}...)
}

// keyParameter is the header of requests that a client may send twice.
var keyParameter = parameter{name: keyHeader, says: "up to 255 printable characters of ASCII that this client uses once", takes: schema{"type": "string", "minLength": 1, "maxLength": 255}} // read only

// itemVerb is the route that disables or enables an item.
func itemVerb(verb string, disabled bool) route {
	return route{
		method: http.MethodPost, path: jobsPath + "/{job}/shards/{item}:" + verb, right: operator.Operate, does: switchItem(disabled), fails: []string{codeInvalid, codeRefused},
		says: verb + "s an item of a job",
	}
}

// moduleRoutes are the routes of modules and their names.
func moduleRoutes() []route {
	return []route{listModulesRoute(), pruneRoute(), uploadRoute(), versionsRoute(), resolveRoute(), unnameRoute(), {
		method: http.MethodPut, path: modulesPath + "/{digest}", right: operator.Publish, does: action{takesType: wasmType, status: http.StatusNoContent, do: keepModule}, fails: []string{codeInvalid, codeRefused},
		says:   "stores a module, uploaded as " + wasmType + ". No job runs it until another request names it",
		header: []parameter{signatureParameter()},
	}, {
		method: http.MethodPost, path: modulesPath + "/{digest}:retry", right: operator.Publish, does: retryAction(), fails: []string{codeRefused},
		served: func(o *Options) bool { return o.RetryModule != nil },
		says:   "does what `module retry` does on this server",
	}}
}

// serverRoutes are the routes of servers, and of the checkup that one does.
func serverRoutes() []route {
	verb := func(name string, does action, says string) route {
		return route{method: http.MethodPost, path: serversPath + "/{address}:" + name, right: operator.Operate, does: does, says: says, fails: []string{codeInvalid, codeRefused}}
	}
	return []route{
		{
			method: http.MethodGet, path: doctorPath, right: operator.Administer, does: shows(doctor), fails: []string{codeInvalid, codeNotFound},
			says: "answers what `doctor` finds about all jobs, or about each \"job\", with this server's configuration and history. " +
				"\"other_servers\" is what the other servers find differently with theirs",
			query:  []parameter{{name: "job", says: "name of a job", many: true}},
			served: func(o *Options) bool { return o.Doctor != nil },
		},
		{method: http.MethodGet, path: serversPath, right: operator.View, does: shows(listServers), says: "answers as `server list`", fails: []string{codeNotFound}},
		verb("disable", switchServer(true), "disables the servers at an address for all jobs"),
		verb("enable", switchServer(false), "enables the servers at an address for all jobs"),
		verb("drain", calls(drainServer), "does what `server drain` does, without waiting; \"reason\" says why"),
		verb("undrain", calls(undrainServer), "does what `server undrain` does"),
	}
}

// runRoutes are the routes of runs: their rows and their logs.
func runRoutes() []route {
	const run = runsPath + runParts
	served, logged := func(o *Options) bool { return o.Runs != nil }, func(o *Options) bool { return o.Logs != nil }
	return []route{
		{
			method: http.MethodGet, path: jobsPath + "/{job}/runs", right: operator.View, does: shows(listRuns), served: served, fails: []string{codeInvalid},
			says: "answers with a page of the job's rows in the histories of all servers, as `history list -o json`: \"limit\" rows (100, at most 1000), " +
				"and in \"next\" and the header Link the \"cursor\" of the next page. With long texts a page has fewer rows, and a next one",
			query: append(pageParameters("rows"),
				parameter{name: "item", says: "the number of an item", takes: itemSchema},
				parameter{name: "state", says: "a state of runs", oneOf: textsOf(trace.States())},
			),
		},
		{
			method: http.MethodGet, path: run, right: operator.View, does: shows(showRun), served: served, fails: []string{codeInvalid},
			says: "answers with the attempts of one run from the histories of all servers, the newest first, each with the end of its log",
		},
		{
			method: http.MethodGet, path: run + "/logs", right: operator.View, does: shows(readRunLog), served: logged, fails: []string{codeInvalid},
			says: "answers with the end of the log of each attempt of a run on any server, the first attempt first. It also answers while the run goes on",
		},
		{
			method: http.MethodGet, path: run + followedLog, right: operator.View, does: action{givesType: eventsType, status: http.StatusOK, do: followRunLog}, served: logged, fails: []string{codeInvalid},
			says: "sends what the newest attempt of a run logs, as it comes. These are server-sent events `log`; the last of them has \"ended\". " +
				"After 25 s the stream ends. A client that comes back with Last-Event-ID gets what comes after that event; \"gap\" says that lines before \"text\" are lost",
			header: []parameter{{name: lastEventHeader, says: "the id of the last event that the client has", takes: schema{"type": "string"}}},
		},
	}
}
