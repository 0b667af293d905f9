package v21

import "fmt"

// UpdateConfig changes raw, the text of a configuration, to the values of c. Only values
// that differ are written anew; everything else stays as it is, byte for byte: order,
// spelling, unknown keys. A missing key is added at the end, unless its absence means
// the same. Without a difference the result is raw itself. UpdateConfig refuses what
// DecodeConfig or EncodeConfig refuse.
func UpdateConfig(raw []byte, c *Config) ([]byte, error) { return Form{}.Update(raw, c) }

// Update is UpdateConfig in the form f. there has where the values are in raw.
func (f Form) Update(raw []byte, c *Config) ([]byte, error) {
	old, there, err := f.read(raw)
	if err != nil {
		return nil, err
	}
	if old == nil {
		return f.Encode(*c)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("update configuration of job %.200q: %w", c.JobName, err)
	}
	want := *c
	if want.JobType == Script {
		want.JobClass = ScriptClass
		if old.JobType == Script {
			old.JobClass = ScriptClass // whatever the text has
		}
	}
	return want.bounded(there.Update(raw, f.object(&want)))
}
