package reason

// cures says what to do about a reason whose words do not say it. As in the words, {name}
// stands for the value of a parameter.
var cures = map[Code]string{
	Failed:       "`wasmjobd history show JOB/ITEM/RUN` has the error and the log; `wasmjobd exec --replay JOB/ITEM/RUN`, on the server that ran it, runs it again and changes nothing without --write",
	TimedOut:     "`wasmjobd history show JOB/ITEM/RUN` has the log; raise timeout if the work takes that long",
	ServerGone:   "see the log of that server: it was killed, or could not reach the registry",
	NotBegun:     "see the servers' logs of that time; catch_up lets such instants begin late",
	JobPaused:    "`wasmjobd job resume JOB`",
	RecordFull:   "shorten the runs, set a timeout, or add a server",
	ItemDisabled: "`wasmjobd job enable JOB --item ITEM`",

	NotBegunOwnerGone:      "see the log of that server: it was killed, or could not reach the registry; catch_up lets such instants begin late",
	NotBegunServerDisabled: "`wasmjobd job enable JOB`",
	NotBegunNoFile:         "write the job into a file again, or `wasmjobd job remove JOB`",
	NotBegunBarred:         "`wasmjobd doctor --registry` names what keeps the server out",
	ServerNotAllowed:       "`wasmjobd doctor --registry` names what keeps the server out",
	ServerDisabled:         "`wasmjobd job enable JOB` or `wasmjobd server enable ADDRESS`",
	ServerDrained:          "`wasmjobd server undrain ADDRESS`",
	HistoryUnwritable:      "free space where the history is, or repair its database",
	RegistryReadOnly:       "free space on the disk of data_dir, or replace it: the registry goes on within seconds",

	NodeUnreadable: "restore the node, or delete it if that is what the text says",
	NodeStray:      "delete the node, or an instance that no session holds by `wasmjobd job shutdown JOB --instance ID`",

	ConfigGone: "restart a server whose file has the job: it writes the configuration; a reload and `wasmjobd apply` do not",

	ClockUnusable:       "set the clock that is wrong",
	ClockEarly:          "set the clock that is wrong",
	ClockBehind:         "set the clock that is wrong",
	AccountedAhead:      "nothing, if the clocks are correct now",
	RecordWouldOverflow: "shorten the runs, set a timeout, or add a server",
	CronInvalid:         "write a valid cron into the file, or into the registry",
	NoServer:            "start a server that has the job; if servers run, `wasmjobd module push` brings them a module that none has, and their logs say what else keeps them from it",
	NobodyLeads:         "wait a moment; if it persists, `wasmjobd doctor --registry` names who is first in the queue of the election latch",
	NotTakenOver:        "wait a moment: the server has just died; if it persists, see the log of the leader",
	LatchUnheld:         "delete {node}",
	LatchOfMember:       "if it persists, end the process of {instance}: the other members go on when its session is over",
	LatchOfOther:        "if it persists, end the process that has session {session}: the members go on when that session is over",
	NoConfig:            "write config again, or remove what is left of the job",
	JobRemoved:          "`wasmjobd job remove JOB` deletes what is left of the job",
	StateOpen:           "in zkCli.sh type addauth digest USER:PASSWORD with that digest, then setAcl -R {root} auth::cdrwa",
	LatchEmpty:          "if it persists, `wasmjobd job show JOB` names the servers that are disabled: `wasmjobd job enable JOB`",
	NextModuleRefused:   "check peer_listen and peer_token of that server, which tries again by itself; or `wasmjobd module rollback JOB`",

	ModuleNowhere:    "`wasmjobd module push FILE` brings it to the servers",
	FileAhead:        "`wasmjobd apply FILE` writes them, as does a server that starts with the file or reads it again (`kill -HUP`, `systemctl reload`, or POST /api/v1/config:reload); only a server that remembers the same values from before follows the registry instead",
	RegistryFollowed: "`wasmjobd apply FILE` writes the file's value if another file was applied since; with overwrite = true in the file its values always apply",

	SessionUnopened: "check ZooKeeper and the network",
	ConnectionLost:  "check ZooKeeper and the network",
	SilentTooLong:   "check ZooKeeper and the network",
	LogStuck:        "check what reads the log: a full disk, a pager, or a pipe to a program that hangs",
	HistoryFailed:   "free space where the history is, or repair its database",
	GuestsIgnoreEnd: "restart the server if this persists",
}
