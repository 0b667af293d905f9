package job

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Delimiter joins the parts of instance ids and task ids.
const Delimiter = "@-@"

// NewInstanceID returns the id of a member: ip names its server, suffix
// distinguishes members of one server (usually the process id). Validate may still
// refuse the result.
func NewInstanceID(ip, suffix string) InstanceID {
	return InstanceID(ip + Delimiter + suffix)
}

// Split returns the two parts of the id. It refuses an id without delimiter.
func (id InstanceID) Split() (ip, suffix string, err error) {
	ip, suffix, ok := strings.Cut(string(id), Delimiter)
	if !ok {
		return "", "", fmt.Errorf("instance id %s has no %q", quote(string(id)), Delimiter)
	}
	return ip, suffix, nil
}

// IP returns the part of the id that names the server; it is empty if the id
// has no delimiter.
func (id InstanceID) IP() string {
	ip, _, delimited := strings.Cut(string(id), Delimiter)
	if !delimited {
		return ""
	}
	return ip
}

// Validate reports whether the id can be a node of the registry and a part of
// a task id: two parts, neither empty, without what either of them reserves.
func (id InstanceID) Validate() error {
	ip, suffix, err := id.Split()
	if err != nil {
		return err
	}
	if ip == "" || suffix == "" || strings.Contains(suffix, Delimiter) {
		return fmt.Errorf("instance id %s is not of the form ip%ssuffix", quote(string(id)), Delimiter)
	}
	if fault := nodeNameFault(string(id)); fault != "" {
		return fmt.Errorf("instance id %s %s", quote(string(id)), fault)
	}
	return nil
}

// The types of execution in a task id. Without a cluster manager, ElasticJob
// writes Ready even for a failover run.
const (
	Ready         = "READY"
	FailoverReady = "FAILOVER"
)

// TaskID names the items that one member runs together.
type TaskID struct {
	Meta
	Type     string // Ready or FailoverReady
	Instance InstanceID
}

// Meta is the part of a task id that says what is run.
type Meta struct {
	Job   string
	Items []int
}

// NewTaskID returns the id of a run of the items by the instance. Without an
// instance it is the one that ElasticJob assumes. It refuses an empty job.
func NewTaskID(job string, items []int, by InstanceID) (TaskID, error) {
	if job == "" {
		return TaskID{}, errors.New("task id: the name of the job is empty")
	}
	return TaskID{Meta{job, items}, Ready, cmp.Or(by, NewInstanceID("127.0.0.1", "1"))}, nil
}

// String is the text of the id: job, items, type and instance.
func (t TaskID) String() string {
	return strings.Join([]string{t.Meta.String(), t.Type, string(t.Instance)}, Delimiter)
}

// Name returns the text of the id without the suffix of the instance. It stays the
// same when the member is started again.
func (t TaskID) Name() string {
	return strings.Join([]string{t.Meta.String(), t.Type, t.Instance.IP()}, Delimiter)
}

// String is the beginning of the text of the task id.
func (m Meta) String() string { return m.Job + Delimiter + FormatItems(m.Items) }

// ParseTaskID reads the text of a task id: exactly five parts, of which the
// instance brings two.
func ParseTaskID(text string) (TaskID, error) {
	parts := split(text, Delimiter)
	if len(parts) != 5 {
		return TaskID{}, fmt.Errorf("task id %s has %d parts, not 5", quote(text), len(parts))
	}
	meta, err := ParseMeta(parts[0] + Delimiter + parts[1])
	if err != nil {
		return TaskID{}, fmt.Errorf("task id %s: %w", quote(text), err)
	}
	if parts[2] != Ready && parts[2] != FailoverReady {
		return TaskID{}, fmt.Errorf("task id %s: type %s is neither %s nor %s", quote(text), quote(parts[2]), Ready, FailoverReady)
	}
	return TaskID{meta, parts[2], NewInstanceID(parts[3], parts[4])}, nil
}

// ParseMeta reads job and items from a whole task id or from its beginning:
// one, two or five parts.
func ParseMeta(text string) (Meta, error) {
	parts := split(text, Delimiter)
	switch len(parts) {
	case 1:
		return Meta{parts[0], []int{}}, nil
	case 2, 5:
		items := []int{}
		if parts[1] != "" {
			// Unlike a list of items, this one keeps repeated ones and may have no
			// empty piece at its end.
			for piece := range strings.SplitSeq(parts[1], ",") {
				item, err := ParseInt(piece)
				if err != nil {
					return Meta{}, fmt.Errorf("items of job %s: %w", quote(parts[0]), err)
				}
				items = append(items, item)
			}
		}
		return Meta{parts[0], items}, nil
	default:
		return Meta{}, fmt.Errorf("%s has %d parts, not 1, 2 or 5", quote(text), len(parts))
	}
}
