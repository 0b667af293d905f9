package job

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// Delimiter joins the parts of instance ids and task ids.
const Delimiter = "@-@"

// NewInstanceID returns the id of a member: ip names its server, suffix (usually the process
// id) distinguishes members of one server. Validate may still refuse the result.
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

// IP returns the part of the id that names the server; it is empty if the id has no delimiter.
func (id InstanceID) IP() string {
	ip, _, delimited := strings.Cut(string(id), Delimiter)
	if !delimited {
		return ""
	}
	return ip
}

// Validate reports whether the id and its IP can name nodes of the registry, and the id can be part of a
// task id: it must have two non-empty parts without characters that nodes or task ids reserve.
func (id InstanceID) Validate() error {
	ip, suffix, err := id.Split()
	if err != nil {
		return err
	}
	if ip == "" || suffix == "" || strings.Contains(suffix, Delimiter) {
		return fmt.Errorf("instance id %s is not of the form ip%ssuffix", quote(string(id)), Delimiter)
	}
	for _, name := range []string{string(id), ip} {
		if fault := nodeNameFault(name); fault != "" {
			return fmt.Errorf("instance id %s %s", quote(name), fault)
		}
	}
	return nil
}

// Types of execution in a task id. Without a cluster manager, ElasticJob writes Ready even for
// a failover run.
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

// Meta is the part of a task id that names job and items.
type Meta struct {
	Job   string
	Items []int
}

// NewTaskID returns the id of a run of the items by the instance by. If by is empty, it uses the
// instance that ElasticJob assumes. It refuses a job without a name.
func NewTaskID(job string, items []int, by InstanceID) (TaskID, error) {
	if job == "" {
		return TaskID{}, errors.New("task id: the name of the job is empty")
	}
	return TaskID{Meta{job, items}, Ready, cmp.Or(by, NewInstanceID("127.0.0.1", "1"))}, nil
}

// String returns the text of the id: job, items, type and instance.
func (t TaskID) String() string {
	return strings.Join([]string{t.Meta.String(), t.Type, string(t.Instance)}, Delimiter)
}

// Name returns the text of the id without the instance's suffix. It stays the same when the
// member restarts.
func (t TaskID) Name() string {
	return strings.Join([]string{t.Meta.String(), t.Type, t.Instance.IP()}, Delimiter)
}

// String returns the text that begins a task id.
func (m Meta) String() string { return m.Job + Delimiter + FormatItems(m.Items) }

// ParseTaskID reads the text of a task id: exactly five parts, two of them for the instance.
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

// ParseMeta reads job and items from a task id or its beginning: the job, job and items, or all
// five parts.
func ParseMeta(text string) (Meta, error) {
	parts := split(text, Delimiter)
	switch len(parts) {
	case 1:
		return Meta{parts[0], []int{}}, nil
	case 2, 5:
		items := []int{}
		if parts[1] != "" {
			// Unlike ParseItems, this keeps repeated items and refuses an empty piece at the end.
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
