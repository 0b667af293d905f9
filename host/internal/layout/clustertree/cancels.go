package clustertree

import (
	"errors"
	"fmt"
)

// Bounds of the requests to cancel runs. If there are more, the oldest are dropped.
const (
	MaxCancels = 500
	// maxCancels bounds the text of all of them, below the 1 MiB of a request to ZooKeeper.
	maxCancels = MaxCancels * 1200
	maxRun     = 100
)

// Cancels are the newest requests to cancel runs, the oldest first. Servers carry out those
// that come while they run; older ones name attempts that have ended.
type Cancels struct {
	V   int      `json:"v"`
	All []Cancel `json:"cancels"`
}

// Cancel asks the server that has an attempt open to end it.
type Cancel struct {
	Job     string `json:"job"`
	Item    int    `json:"item"`
	Run     string `json:"run"`
	Attempt int    `json:"attempt"`
	Now     bool   `json:"now,omitempty"` // without a grace in which the attempt may end by itself
	At      int64  `json:"at"`            // distinguishes two requests for the same attempt
}

// DecodeCancels reads the value of the node; an empty value has none.
func DecodeCancels(data []byte) (Cancels, error) {
	var c Cancels
	if err := decodeIfAny(data, maxCancels, &c, &c.V); err != nil {
		return Cancels{}, err
	}
	if len(c.All) > MaxCancels {
		return Cancels{}, fmt.Errorf("it has %d requests, the limit is %d", len(c.All), MaxCancels)
	}
	for _, one := range c.All {
		if !one.fits() || !isMoment(one.At) {
			return Cancels{}, errors.New("a request in it is not what this release writes")
		}
	}
	return c, nil
}

// fits reports whether the request can be stored as it is.
func (c Cancel) fits() bool {
	return c.Job != "" && short(c.Job, 2*maxJob) == c.Job && short(c.Run, maxRun) == c.Run && c.Item >= 0 && c.Attempt > 0
}

// Add appends a request, and drops the oldest if there are too many. It returns false if
// the request's names are too long to be stored.
func (c *Cancels) Add(one Cancel) bool {
	if !one.fits() {
		return false
	}
	c.All = append(c.All[max(0, len(c.All)+1-MaxCancels):len(c.All):len(c.All)], one)
	return true
}

// Encode returns the value of the node.
func (c *Cancels) Encode() []byte {
	c.V = version
	if c.All == nil {
		c.All = []Cancel{}
	}
	return encode(c)
}
