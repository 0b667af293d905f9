package v21

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// MaxConfig is the largest text of a configuration, in bytes; no node of
// ZooKeeper holds more.
const MaxConfig = 1 << 20

// JobType is what kind of class a Java member would call.
type JobType string

// The kinds of jobs in layout 2.1.
const (
	Simple   JobType = "SIMPLE"
	Dataflow JobType = "DATAFLOW"
	Script   JobType = "SCRIPT"
)

const (
	scriptClass = "com.dangdang.ddframe.job.api.script.ScriptJob"
	handlers    = "com.dangdang.ddframe.job.executor.handler.impl."
)

// Config is the configuration of a job as ElasticJob-Lite 2.1 keeps it, with
// the types of Java.
type Config struct {
	JobName                  string
	JobClass                 string // always the same for a script
	JobType                  JobType
	Cron                     string
	ShardingTotalCount       int32
	ShardingItemParameters   string
	JobParameter             string
	Failover                 bool
	Misfire                  bool
	Description              string
	JobProperties            JobProperties
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

// JobProperties are the classes that handle errors and threads in Java.
type JobProperties struct {
	JobExceptionHandler    string
	ExecutorServiceHandler string
}

// Default returns a configuration with what ElasticJob assumes when a job is
// built; name, class, type, cron and total are still missing.
func Default() Config {
	c := absent()
	c.Misfire = true
	return c
}

// absent is what reading gives to keys that aren't there. It is not what
// building gives: misfire is off.
func absent() Config {
	return Config{
		JobProperties: JobProperties{
			JobExceptionHandler:    handlers + "DefaultJobExceptionHandler",
			ExecutorServiceHandler: handlers + "DefaultExecutorServiceHandler",
		},
		MonitorExecution:         true,
		MaxTimeDiffSeconds:       -1,
		MonitorPort:              -1,
		ReconcileIntervalMinutes: 10,
	}
}

// check refuses what neither the builder nor the reader of Java lets through.
func (c *Config) check() error {
	switch {
	case c.JobName == "":
		return errors.New("jobName is empty")
	case c.Cron == "":
		return errors.New("cron is empty")
	case c.ShardingTotalCount < 1:
		return fmt.Errorf("shardingTotalCount is %d, less than 1", c.ShardingTotalCount)
	case !c.JobType.known():
		return fmt.Errorf("jobType %.100q is none of %s, %s, %s", c.JobType, Simple, Dataflow, Script)
	case c.JobType != Script && c.JobClass == "":
		return errors.New("jobClass is empty")
	}
	return nil
}

func (t JobType) known() bool { return t == Simple || t == Dataflow || t == Script }

// member is one key of an object: where its value is kept, and the bytes
// that the value has in a text that was read (none if from is 0).
type member struct {
	key      string
	value    any // *string, *JobType, *int32, *bool or *object
	from, to int
}

// object is a list of keys in the order in which ElasticJob writes them.
type object struct {
	members []member
	begin   func() // called before an object within another is read
	end     int    // where a further member goes in the text that was read
	empty   bool
}

// object returns the keys of c that a job of its type has.
func (c *Config) object() *object {
	o := c.every()
	o.members = slices.DeleteFunc(o.members, func(m member) bool {
		return m.key == "streamingProcess" && c.JobType != Dataflow ||
			m.key == "scriptCommandLine" && c.JobType != Script
	})
	return o
}

// every returns all keys; reading checks the values even of those that the
// type of the job makes no use of.
func (c *Config) every() *object {
	p := &c.JobProperties
	begin := func() { *p = absent().JobProperties }
	return &object{members: []member{
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
		{key: "jobProperties", value: &object{begin: begin, members: []member{
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
func (o *object) find(key string) *member {
	i := slices.IndexFunc(o.members, func(m member) bool { return m.key == key })
	if i < 0 {
		return nil
	}
	return &o.members[i]
}

// EncodeConfig writes the configuration to the byte as Java does. It refuses
// what Java's builder and reader refuse.
func EncodeConfig(c Config) ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("write configuration of job %.200q: %w", c.JobName, err)
	}
	if c.JobType == Script {
		c.JobClass = scriptClass
	}
	return c.bounded(appendValue(nil, c.object()))
}

func (c *Config) bounded(text []byte) ([]byte, error) {
	if len(text) > MaxConfig {
		return nil, fmt.Errorf("write configuration of job %.200q: %d bytes are more than %d", c.JobName, len(text), MaxConfig)
	}
	return text, nil
}

func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case *string:
		return appendText(b, *v)
	case *JobType:
		return appendText(b, string(*v))
	case *int32:
		return strconv.AppendInt(b, int64(*v), 10)
	case *bool:
		return strconv.AppendBool(b, *v)
	case *object:
		b = append(b, '{')
		for i, m := range v.members {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(append(appendText(b, m.key), ':'), m.value)
		}
		return append(b, '}')
	}
	return b
}

// appendText escapes what Java's library escapes: besides what JSON asks
// for, what could harm in a page or a script.
func appendText(b []byte, s string) []byte {
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

// DecodeConfig reads a configuration, whoever wrote it: a Java member, its
// console, or a person. An empty text is no configuration: nil without error.
func DecodeConfig(data []byte) (*Config, error) {
	c, _, err := read(data)
	if err != nil || c == nil {
		return nil, err
	}
	c.StreamingProcess = c.StreamingProcess && c.JobType == Dataflow
	if c.JobType == Script {
		c.JobClass = scriptClass
	} else {
		c.ScriptCommandLine = ""
	}
	return c, nil
}

// read reads all that is there, even what the job's type makes no use of,
// and where in the text it is.
func read(data []byte) (*Config, *object, error) {
	if len(data) > MaxConfig {
		return nil, nil, fmt.Errorf("read configuration: %d bytes are more than %d", len(data), MaxConfig)
	}
	c := absent()
	o := c.every()
	r := &reader{text: string(data), pos: len(data) - len(bytes.TrimPrefix(data, []byte("\ufeff")))}
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
func (r *reader) document(o *object) error {
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
func (r *reader) members(o *object, unknown func() error) error {
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

func (r *reader) value(value any) (err error) {
	switch v := value.(type) {
	case *string:
		*v, err = r.string()
	case *JobType:
		var text string
		if text, err = r.string(); err == nil && !JobType(text).known() {
			err = r.fault("%.100q is none of %s, %s, %s", text, Simple, Dataflow, Script)
		}
		*v = JobType(text)
	case *int32:
		*v, err = r.int()
	case *bool:
		*v, err = r.bool()
	case *object:
		err = r.properties(v)
	}
	return err
}

// properties reads the one object within the configuration. Seen again, it
// begins anew; a key that it doesn't know breaks Java's reading.
func (r *reader) properties(o *object) error {
	o.begin()
	for i := range o.members {
		o.members[i].from = 0
	}
	return r.members(o, func() error { return r.fault("Java members can't read a configuration with this key here") })
}
