package clustertree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxMaintained bounds the jobs that a maintenance pauses.
const MaxMaintained = 2000

// maxMaintenance bounds the text, below the 1 MiB of a request to ZooKeeper.
const maxMaintenance = 512 << 10

// Maintenance is a maintenance that an operator has announced, up to a moment: no alerts
// are delivered, and some jobs are paused. There is at most one.
type Maintenance struct {
	V     int    `json:"v"`
	By    string `json:"by"`
	Why   string `json:"why,omitempty"`
	Since int64  `json:"since"`
	Until int64  `json:"until"`
	// Paused are the jobs that it pauses, ascending.
	Paused []string `json:"paused,omitempty"`
	// Extended are those of Paused whose own pause would have ended before, ascending by job.
	Extended []Extended `json:"extended,omitempty"`
}

// Extended is a pause of a job that a maintenance has extended to its own end.
type Extended struct {
	Job   string `json:"job"`
	Since int64  `json:"since"` // 0: unknown
	Until int64  `json:"until"` // without the maintenance
}

func byJobOf(a, b Extended) int { return strings.Compare(a.Job, b.Job) }

// DecodeMaintenance reads the value of the node; an empty value is a maintenance until 0,
// so none.
func DecodeMaintenance(data []byte) (Maintenance, error) {
	var m Maintenance
	if len(data) == 0 {
		return m, nil
	}
	if err := decode(data, maxMaintenance, &m, &m.V); err != nil {
		return Maintenance{}, err
	}
	if err := m.check(); err != nil {
		return Maintenance{}, err
	}
	return m, nil
}

// check refuses what Encode does not write.
func (m *Maintenance) check() error {
	if short(m.By, maxWho) != m.By || short(m.Why, maxSilence) != m.Why || !isMoment(m.Since) || !isMoment(m.Until) {
		return errors.New("it is not what this release writes")
	}
	if len(m.Paused) > MaxMaintained || !slices.IsSorted(m.Paused) {
		return fmt.Errorf("it has %d jobs, and the limit is %d, ascending", len(m.Paused), MaxMaintained)
	}
	if len(m.Extended) > MaxMaintained || !slices.IsSortedFunc(m.Extended, byJobOf) {
		return fmt.Errorf("it has %d extended pauses, and the limit is %d, ascending", len(m.Extended), MaxMaintained)
	}
	if slices.ContainsFunc(m.Extended, func(e Extended) bool { return e.Since < 0 || e.Since > lastMoment || !isMoment(e.Until) }) {
		return errors.New("a pause that it extends has no such time")
	}
	return nil
}

// Encode returns the value of the node; nil if it cannot be stored.
func (m *Maintenance) Encode() []byte {
	m.V, m.By, m.Why = version, short(m.By, maxWho), short(m.Why, maxSilence)
	slices.Sort(m.Paused)
	slices.SortFunc(m.Extended, byJobOf)
	data := encode(m)
	if m.check() != nil || len(data) > maxMaintenance {
		return nil
	}
	return data
}
