package v3

import (
	"fmt"
	"slices"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/layout/snakeyaml"
)

const keyExtra = "jobExtraConfigurations"

// DecodeConfig reads a configuration that a Java member, its console or a person wrote;
// class is the value of the job's own node. An empty text is no configuration: nil without
// error.
func DecodeConfig(class string, text []byte) (*Config, error) {
	c, _, err := read(class, text)
	return c, err
}

// read is DecodeConfig. It also returns where the keys are in the text.
func read(class string, text []byte) (*Config, *snakeyaml.Document, error) {
	d, err := snakeyaml.Read(text, keyExtra)
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	if d == nil {
		return nil, nil, nil
	}
	c := &Config{Class: class, MaxTimeDiffSeconds: -1} // a missing flag is off, unlike in the builder
	if err = c.take(d); err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	return c, d, nil
}

// take sets the fields of c to the values in d. As in Java, the last of a repeated key
// counts, and an unknown key is an error.
func (c *Config) take(d *snakeyaml.Document) error {
	fields := c.fields()
	for i := range d.Entries {
		e := &d.Entries[i]
		var err error
		switch field := fields[e.Key].(type) {
		case *string:
			*field, _, err = e.Value.String()
		case *bool:
			*field, err = e.Value.Bool()
		case *int32:
			*field, err = e.Value.Int()
		case nil:
			err = c.takeOther(d, i)
		}
		if err != nil {
			return fmt.Errorf("%.100s: %w", e.Key, err)
		}
	}
	return nil
}

// fields returns pointers to those fields of c that are one text, flag or number, by their
// keys.
func (c *Config) fields() map[string]any {
	return map[string]any{
		"cron": &c.Cron, "description": &c.Description, "disabled": &c.Disabled, "failover": &c.Failover,
		"jobErrorHandlerType": &c.JobErrorHandlerType, "jobExecutorServiceHandlerType": &c.JobExecutorServiceHandlerType,
		"jobExecutorThreadPoolSizeProviderType": &c.JobExecutorThreadPoolSizeProviderType,
		"jobName":                               &c.JobName, "jobParameter": &c.JobParameter,
		"jobShardingStrategyType": &c.JobShardingStrategyType, "label": &c.Label, "maxTimeDiffSeconds": &c.MaxTimeDiffSeconds,
		"misfire": &c.Misfire, "monitorExecution": &c.MonitorExecution, "overwrite": &c.Overwrite,
		"reconcileIntervalMinutes": &c.ReconcileIntervalMinutes, "shardingItemParameters": &c.ShardingItemParameters,
		"shardingTotalCount": &c.ShardingTotalCount, "staticSharding": &c.StaticSharding, "timeZone": &c.TimeZone,
	}
}

// takeOther reads entry i of d, whose key is none of fields.
func (c *Config) takeOther(d *snakeyaml.Document, i int) error {
	e := &d.Entries[i]
	switch e.Key {
	case keyExtra:
		if e.Value.Kind != snakeyaml.Kept {
			return fmt.Errorf("line %d, column %d: expected a list", e.Value.Line, e.Value.Column)
		}
		c.JobExtraConfigurations = string(d.Lines(i)) // never interpreted, only written again
		return nil
	case "jobListenerTypes":
		return c.takeListeners(e.Value)
	case "props":
		return c.takeProps(e.Value)
	}
	return fmt.Errorf("line %d, column %d: no release of ElasticJob 3 knows the key", e.Line, e.Column)
}

// takeListeners reads the types of listeners, a list of texts. The field has one a line.
func (c *Config) takeListeners(v *snakeyaml.Value) error {
	var types []string
	if v.Kind != snakeyaml.List {
		return fmt.Errorf("line %d, column %d: expected a list", v.Line, v.Column)
	}
	for _, one := range v.List {
		text, set, err := one.String()
		if err != nil || !set || text == "" || strings.ContainsAny(text, "\n") {
			return fmt.Errorf("line %d, column %d: expected the type of a listener", one.Line, one.Column)
		}
		types = append(types, text)
	}
	c.JobListenerTypes = strings.Join(types, "\n")
	return nil
}

// takeProps reads the properties. Java prints values that are not texts, such as numbers.
func (c *Config) takeProps(v *snakeyaml.Value) error {
	if v.Kind != snakeyaml.Mapping {
		return fmt.Errorf("line %d, column %d: expected keys with texts", v.Line, v.Column)
	}
	values := map[string]string{}
	for i := range v.Entries {
		text, err := v.Entries[i].Value.Printed()
		if err != nil {
			return fmt.Errorf("%.100s: %w", v.Entries[i].Key, err)
		}
		values[v.Entries[i].Key] = text
	}
	c.setProps(values)
	return nil
}

// UpdateConfig changes raw, the text of a configuration of that class, to the values of
// c. Only values that differ are written anew; everything else stays as it is, byte for
// byte: order, spelling, comments. Without a difference the result is raw itself. Where
// that would change another value, the whole text is written anew. UpdateConfig refuses
// what DecodeConfig or EncodeConfig refuse.
func UpdateConfig(class string, raw []byte, c *Config) ([]byte, error) {
	old, d, err := read(class, raw)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return EncodeConfig(*c)
	}
	whole, err := EncodeConfig(*c)
	if err != nil {
		return nil, err
	}
	was, err := old.entries()
	if err != nil {
		return nil, fmt.Errorf("update configuration of job %.200q: %w", c.JobName, err)
	}
	is, _ := c.entries() // EncodeConfig has written them
	var changes []snakeyaml.Change
	for i := range is {
		if string(was[i].lines) != string(is[i].lines) {
			changes = append(changes, snakeyaml.Change{Key: is[i].key, Lines: is[i].lines})
		}
	}
	if len(changes) == 0 {
		return raw, nil
	}
	text, ok := d.Update(changes)
	if !ok {
		return whole, nil
	}
	back, err := DecodeConfig(c.Class, text)
	if same := err == nil && back.writes(is); !same {
		return whole, nil // a line break beside a change has become part of a text
	}
	if text, err = bounded(text); err != nil {
		return nil, fmt.Errorf("update configuration of job %.200q: %w", c.JobName, err)
	}
	return text, nil
}

// writes reports whether the configuration is written as these entries.
func (c *Config) writes(entries []entry) bool {
	own, err := c.entries()
	return err == nil && slices.EqualFunc(own, entries, func(a, b entry) bool { return string(a.lines) == string(b.lines) })
}
