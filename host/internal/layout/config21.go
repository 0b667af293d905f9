package layout

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// MaxConfig21 is the largest text of a configuration, in bytes; no node of
// ZooKeeper holds more.
const MaxConfig21 = 1 << 20

// JobType21 is what kind of class a Java member would call.
type JobType21 string

// The kinds of jobs in layout 2.1.
const (
	Simple21   JobType21 = "SIMPLE"
	Dataflow21 JobType21 = "DATAFLOW"
	Script21   JobType21 = "SCRIPT"
)

const (
	scriptClass21 = "com.dangdang.ddframe.job.api.script.ScriptJob"
	handlers21    = "com.dangdang.ddframe.job.executor.handler.impl."
)

// Config21 is the configuration of a job as ElasticJob-Lite 2.1 keeps it, with
// the types of Java.
type Config21 struct {
	JobName                  string
	JobClass                 string // always the same for a script
	JobType                  JobType21
	Cron                     string
	ShardingTotalCount       int32
	ShardingItemParameters   string
	JobParameter             string
	Failover                 bool
	Misfire                  bool
	Description              string
	JobProperties            JobProperties21
	StreamingProcess         bool   // of a dataflow
	ScriptCommandLine        string // of a script
	MonitorExecution         bool
	MaxTimeDiffSeconds       int32 // -1: no check
	MonitorPort              int32 // negative: none
	JobShardingStrategyClass string
	ReconcileIntervalMinutes int32 // 0 or less: off
	Disabled                 bool
	Overwrite                bool
}

// JobProperties21 are the classes that handle errors and threads in Java.
type JobProperties21 struct {
	JobExceptionHandler    string
	ExecutorServiceHandler string
}

// Default21 returns a configuration with what ElasticJob assumes when a job is
// built; name, class, type, cron and total are still missing.
func Default21() Config21 {
	c := absent21()
	c.Misfire = true
	return c
}

// absent21 is what reading gives to keys that aren't there. It is not what
// building gives: misfire is off.
func absent21() Config21 {
	return Config21{
		JobProperties: JobProperties21{
			JobExceptionHandler:    handlers21 + "DefaultJobExceptionHandler",
			ExecutorServiceHandler: handlers21 + "DefaultExecutorServiceHandler",
		},
		MonitorExecution:         true,
		MaxTimeDiffSeconds:       -1,
		MonitorPort:              -1,
		ReconcileIntervalMinutes: 10,
	}
}

// check refuses what neither the builder nor the reader of Java lets through.
func (c *Config21) check() error {
	switch {
	case c.JobName == "":
		return errors.New("jobName is empty")
	case c.Cron == "":
		return errors.New("cron is empty")
	case c.ShardingTotalCount < 1:
		return fmt.Errorf("shardingTotalCount is %d, less than 1", c.ShardingTotalCount)
	case !c.JobType.known():
		return fmt.Errorf("jobType %.100q is none of %s, %s, %s", c.JobType, Simple21, Dataflow21, Script21)
	case c.JobType != Script21 && c.JobClass == "":
		return errors.New("jobClass is empty")
	}
	return nil
}

func (t JobType21) known() bool { return t == Simple21 || t == Dataflow21 || t == Script21 }

// member21 is one key of an object: where its value is kept, and the bytes
// that the value has in a text that was read (none if from is 0).
type member21 struct {
	key      string
	value    any // *string, *JobType21, *int32, *bool or *object21
	from, to int
}

// object21 is a list of keys in the order in which ElasticJob writes them.
type object21 struct {
	members []member21
	begin   func() // called before an object within another is read
	end     int    // where a further member goes in the text that was read
	empty   bool
}

// object returns the keys of c that a job of its type has.
func (c *Config21) object() *object21 {
	o := c.every()
	o.members = slices.DeleteFunc(o.members, func(m member21) bool {
		return m.key == "streamingProcess" && c.JobType != Dataflow21 ||
			m.key == "scriptCommandLine" && c.JobType != Script21
	})
	return o
}

// every returns all keys; reading checks the values even of those that the
// type of the job makes no use of.
func (c *Config21) every() *object21 {
	p := &c.JobProperties
	begin := func() { *p = absent21().JobProperties }
	return &object21{members: []member21{
		{key: "jobName", value: &c.JobName},
		{key: "jobClass", value: &c.JobClass},
		{key: "jobType", value: &c.JobType},
		{key: "cron", value: &c.Cron},
		{key: "shardingTotalCount", value: &c.ShardingTotalCount},
		{key: "shardingItemParameters", value: &c.ShardingItemParameters},
		{key: "jobParameter", value: &c.JobParameter},
		{key: "failover", value: &c.Failover},
		{key: "misfire", value: &c.Misfire},
		{key: "description", value: &c.Description},
		{key: "jobProperties", value: &object21{begin: begin, members: []member21{
			{key: "job_exception_handler", value: &p.JobExceptionHandler},
			{key: "executor_service_handler", value: &p.ExecutorServiceHandler},
		}}},
		{key: "streamingProcess", value: &c.StreamingProcess},
		{key: "scriptCommandLine", value: &c.ScriptCommandLine},
		{key: "monitorExecution", value: &c.MonitorExecution},
		{key: "maxTimeDiffSeconds", value: &c.MaxTimeDiffSeconds},
		{key: "monitorPort", value: &c.MonitorPort},
		{key: "jobShardingStrategyClass", value: &c.JobShardingStrategyClass},
		{key: "reconcileIntervalMinutes", value: &c.ReconcileIntervalMinutes},
		{key: "disabled", value: &c.Disabled},
		{key: "overwrite", value: &c.Overwrite},
	}}
}

// find returns the member with that key, or nil.
func (o *object21) find(key string) *member21 {
	i := slices.IndexFunc(o.members, func(m member21) bool { return m.key == key })
	if i < 0 {
		return nil
	}
	return &o.members[i]
}

// EncodeConfig21 writes the configuration to the byte as Java does. It refuses
// what Java's builder and reader refuse.
func EncodeConfig21(c Config21) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("write configuration of job %.200q: %w", c.JobName, err)
	}
	if c.JobType == Script21 {
		c.JobClass = scriptClass21
	}
	return c.bounded(appendValue21(nil, c.object()))
}

func (c *Config21) bounded(text []byte) ([]byte, error) {
	if len(text) > MaxConfig21 {
		return nil, fmt.Errorf("write configuration of job %.200q: %d bytes are more than %d", c.JobName, len(text), MaxConfig21)
	}
	return text, nil
}

func appendValue21(b []byte, value any) []byte {
	switch v := value.(type) {
	case *string:
		return appendText21(b, *v)
	case *JobType21:
		return appendText21(b, string(*v))
	case *int32:
		return strconv.AppendInt(b, int64(*v), 10)
	case *bool:
		return strconv.AppendBool(b, *v)
	case *object21:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue21(append(appendText21(b, m.key), ':'), m.value)
		}
		return append(b, '}')
	}
	return b
}

// appendText21 escapes what Java's library escapes: besides what JSON asks
// for, what could harm in a page or a script.
func appendText21(b []byte, s string) []byte {
	const short = "\"\"\\\\\tt\bb\nn\rr\ff" // pairs: a character and its letter
	b = append(b, '"')
	for _, c := range s { // bytes that are no text become U+FFFD
		switch i := strings.IndexRune(short, c); {
		case i >= 0 && i%2 == 0:
			b = append(b, '\\', short[i+1])
		case c < ' ' || c == '\u2028' || c == '\u2029' || strings.ContainsRune("<>&='", c):
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}

// DecodeConfig21 reads a configuration, whoever wrote it: a Java member, its
// console, or a person. An empty text is no configuration: nil without error.
func DecodeConfig21(data []byte) (*Config21, error) {
	c, _, err := read21(data)
	if err != nil || c == nil {
		return nil, err
	}
	c.StreamingProcess = c.StreamingProcess && c.JobType == Dataflow21
	if c.JobType == Script21 {
		c.JobClass = scriptClass21
	} else {
		c.ScriptCommandLine = ""
	}
	return c, nil
}

// read21 reads all that is there, even what the job's type makes no use of,
// and where in the text it is.
func read21(data []byte) (*Config21, *object21, error) {
	if len(data) > MaxConfig21 {
		return nil, nil, fmt.Errorf("read configuration: %d bytes are more than %d", len(data), MaxConfig21)
	}
	c := absent21()
	o := c.every()
	r := &reader21{text: string(data), pos: len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))}
	err := r.document(o)
	if errors.Is(err, io.EOF) {
		return nil, nil, nil
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	return &c, o, nil
}

// document reads one object and nothing behind it but blanks. It returns
// io.EOF if there is no object at all.
func (r *reader21) document(o *object21) error {
	if _, err := r.next(); err != nil {
		return err
	}
	const guard = ")]}'\n" // makes a text useless as a script
	if strings.HasPrefix(r.text[r.pos:], guard) {
		r.pos += len(guard)
	}
	if err := r.members(o, r.skip); err != nil {
		return err
	}
	if strings.Trim(r.text[r.pos:], " \t\r\n") != "" {
		return r.fault("something stands behind the object")
	}
	return nil
}

// members reads an object into o; a key seen twice has its last value. The
// value of a key that o doesn't have is left to unknown.
func (r *reader21) members(o *object21, unknown func() error) error {
	o.empty = true
	end, err := r.object(func(key string) error {
		o.empty = false
		m := o.find(key)
		if m == nil {
			if err := unknown(); err != nil {
				return fmt.Errorf("key %.100q: %w", key, err)
			}
			return nil
		}
		m.from = r.pos
		if err := r.value(m.value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		m.to = r.pos
		return nil
	})
	o.end = end
	return err
}

func (r *reader21) value(value any) (err error) {
	switch v := value.(type) {
	case *string:
		*v, err = r.string()
	case *JobType21:
		var text string
		if text, err = r.string(); err == nil && !JobType21(text).known() {
			err = r.fault("%.100q is none of %s, %s, %s", text, Simple21, Dataflow21, Script21)
		}
		*v = JobType21(text)
	case *int32:
		*v, err = r.int()
	case *bool:
		*v, err = r.bool()
	case *object21:
		err = r.properties(v)
	}
	return err
}

// properties reads the one object within the configuration. Seen again, it
// begins anew; a key that it doesn't know breaks Java's reading.
func (r *reader21) properties(o *object21) error {
	o.begin()
	for i := range o.members {
		o.members[i].from = 0
	}
	return r.members(o, func() error { return r.fault("Java members can't read a configuration with this key here") })
}
