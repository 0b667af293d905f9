package reason

// Why a run ended, or was not run again.
const (
	Failed                 Code = "failed"
	TimedOut               Code = "timed_out"
	SessionDoubtful        Code = "session_doubtful"
	SessionOver            Code = "session_over"
	ShuttingDown           Code = "shutting_down"
	StopOrdered            Code = "stop_ordered"
	NodesRemoved           Code = "nodes_removed"
	RecordGone             Code = "record_gone"
	ReplacedByTrigger      Code = "replaced_by_trigger"
	ReplacedByNextRun      Code = "replaced_by_next_run"
	ServerDied             Code = "server_died"
	ServerDiedBeforeBegin  Code = "server_died_before_begin"
	ServerDiedFailoverOff  Code = "server_died_failover_off"
	ServerDiedItemGone     Code = "server_died_item_gone"
	ServerDiedItemDisabled Code = "server_died_item_disabled"
	ServerDiedNextInstant  Code = "server_died_next_instant"
	ServerDiedAnotherRun   Code = "server_died_another_run"
	LaterRunBegan          Code = "later_run_began"
	NextInstantBeforeTake  Code = "next_instant_before_takeover"
	NextInstantBeforeRetry Code = "next_instant_before_retry"
	FailoverOff            Code = "failover_off"
	ItemGone               Code = "item_gone"
	ItemDisabled           Code = "item_disabled"
	ItemMoved              Code = "item_moved"
	ForeignTookOver        Code = "foreign_took_over"
	ForeignRunHadEnded     Code = "foreign_run_had_ended"
	ForeignFailoverOff     Code = "foreign_failover_off"
	ForeignLeftUnknown     Code = "foreign_left_unknown"
	ForeignHadItem         Code = "foreign_had_item"
)

// What an event without an item tells.
const (
	StrategyFailedEvenly Code = "strategy_failed_evenly"
	StrategyFailedKept   Code = "strategy_failed_kept"
	ModuleRefused        Code = "module_refused"
)

// Why instants passed at which no run began.
const (
	NotBegun               Code = "not_begun"
	NotBegunBarred         Code = "not_begun_server_not_allowed"
	NotBegunRegistryLost   Code = "not_begun_registry_lost"
	NotBegunServerDisabled Code = "not_begun_server_disabled"
	ItemDidNotExist        Code = "item_did_not_exist"
	ReshardAwaited         Code = "reshard_awaited"
	HistoryUnwritable      Code = "history_unwritable"
	JobPaused              Code = "job_paused"
	StillRunning           Code = "still_running"
	TakeoverAwaited        Code = "takeover_awaited"
	RecordFull             Code = "record_full"
	TooManyDue             Code = "too_many_due"
	AboutToMove            Code = "about_to_move"
	LeaderAwaitsEnd        Code = "leader_awaits_end"
	RunningAfterFailure    Code = "running_after_failure"
	MarkedRunning          Code = "marked_running"
	ServerNotAllowed       Code = "server_not_allowed"
	ServerDisabled         Code = "server_disabled"
	RegistrySilent         Code = "registry_silent"
	RegistryReadOnly       Code = "registry_read_only"
	ForeignShares          Code = "foreign_shares"
	ClockDiffers           Code = "clock_differs"
	ClockAhead             Code = "clock_ahead"
	InstanceRemoved        Code = "instance_removed"
	AnotherRequestWaited   Code = "another_request_waited"
	ScheduleUnreadable     Code = "schedule_unreadable"
)

// What happens to a member.
const (
	Joined              Code = "joined"
	InstanceNodeRemoved Code = "instance_node_removed"
	LeavingUntilAllowed Code = "leaving_until_allowed"
	StrategyFailed      Code = "strategy_failed"
	ClocksAgree         Code = "clocks_agree"
	RefusedTwice        Code = "refused_twice"
	Mended              Code = "mended"
	CronReadable        Code = "cron_readable"
	LedAgain            Code = "led_again"
)

// What keeps a job from going on as it should, or is wrong with its nodes.
const (
	NodeUnreadable          Code = "node_unreadable"
	NodeStray               Code = "node_stray"
	RecordUnreadable        Code = "record_unreadable"
	ConfigUnreadable        Code = "config_unreadable"
	ConfigGone              Code = "config_gone"
	ConfigGoneBesideForeign Code = "config_gone_beside_foreign"
	ForeignUnmonitored      Code = "foreign_unmonitored"
	ForeignZoneless         Code = "foreign_zoneless"
	ClockUnusable           Code = "clock_unusable"
	ClockEarly              Code = "clock_early"
	ClockBehind             Code = "clock_behind"
	AccountedAhead          Code = "accounted_ahead"
	LeadLeftToForeign       Code = "lead_left_to_foreign"
	ReshardOverdue          Code = "reshard_overdue"
	LatchHeld               Code = "latch_held"
	LatchHeldBy             Code = "latch_held_by"
	RecordWouldOverflow     Code = "record_would_overflow"
	NoServer                Code = "no_server"
	NobodyLeads             Code = "nobody_leads"
	NotTakenOver            Code = "not_taken_over"
	JobDenied               Code = "job_denied"
	ScheduleOver            Code = "schedule_over"
	CronInvalid             Code = "cron_invalid"
	CronInvalidGoesOn       Code = "cron_invalid_goes_on"
	CronUnreadable          Code = "cron_unreadable"
	CronUnreadableBeside    Code = "cron_unreadable_beside_foreign"
	StrategyUnknown         Code = "strategy_unknown"
	StrategyUnknownBeside   Code = "strategy_unknown_beside_foreign"
	StrategyModuleRefused   Code = "strategy_module_refused"
	NextModuleAwaited       Code = "next_module_awaited"
	NextModuleRefused       Code = "next_module_refused"
	ModuleCompiling         Code = "module_compiling"
)

// Why a server must not run a job.
const (
	TypeDiffers   Code = "type_differs"
	ClassNotNamed Code = "class_not_named"
	ClassDiffers  Code = "class_differs"
	ClassStays    Code = "class_stays"
	ZoneMissing   Code = "zone_missing"
	MonitorOff    Code = "monitor_off"
)

// What goes wrong on a server.
const (
	SessionUnopened   Code = "session_unopened"
	SessionEnded      Code = "session_ended"
	ConnectionLost    Code = "connection_lost"
	SilentTooLong     Code = "silent_too_long"
	LogStuck          Code = "log_stuck"
	ObserverStuck     Code = "observer_stuck"
	RegistryFailed    Code = "registry_failed"
	RegistryUnread    Code = "registry_unread"
	RegistryUnwritten Code = "registry_unwritten"
	EarlierLife       Code = "earlier_life"
	HistoryFailed     Code = "history_failed"
	ScheduleFailed    Code = "schedule_failed"
	StrategyFailing   Code = "strategy_failing"
	ConfigDisputed    Code = "config_disputed"
	RowsRefused       Code = "rows_refused"
	GuestsIgnoreEnd   Code = "guests_ignore_end"
	GivenUp           Code = "given_up"
	JobRemoved        Code = "job_removed"
)

// What doctor finds besides.
const (
	NotInRegistry           Code = "not_in_registry"
	NotInConfiguration      Code = "not_in_configuration"
	OtherLayout             Code = "other_layout"
	NoConfig                Code = "no_config"
	InvalidHere             Code = "invalid_here"
	LatchUnheld             Code = "latch_unheld"
	LatchEmpty              Code = "latch_empty"
	LatchOfMember           Code = "latch_of_member"
	LatchOfStranger         Code = "latch_of_stranger"
	MarkUnheld              Code = "mark_unheld"
	MarkUnheldBesideForeign Code = "mark_unheld_beside_foreign"
	MoreMarksUnheld         Code = "more_marks_unheld"
	ListenerOnce            Code = "listener_once"
	FailoverTwice           Code = "failover_twice"
	RegistryFollowed        Code = "registry_followed"
	AddressPrefix           Code = "address_prefix"
	TokensBackwards         Code = "tokens_backwards"
)

// What became of a job.
const (
	MemberDied             Code = "member_died"
	ForeignGone            Code = "foreign_gone"
	LeaderChanged          Code = "leader_changed"
	OperatorPaused         Code = "operator_paused"
	OperatorResumed        Code = "operator_resumed"
	OperatorDisabledItem   Code = "operator_disabled_item"
	OperatorEnabledItem    Code = "operator_enabled_item"
	OperatorDisabledServer Code = "operator_disabled_server"
	OperatorEnabledServer  Code = "operator_enabled_server"
	OperatorTriggered      Code = "operator_triggered"
	ConfigChanged          Code = "config_changed"
)
