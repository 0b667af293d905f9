package clustertree

import (
	"errors"
	"fmt"
	"slices"
)

// Bounds of browsers' sessions. If a token has more, its oldest are dropped.
const (
	MaxSessions   = 1000
	MaxSessionsOf = 20
	// maxSessions bounds the text of all of them, below the 1 MiB of a request to ZooKeeper.
	maxSessions = MaxSessions * 240
)

// Sessions are the sessions of browsers, the oldest first.
type Sessions struct {
	V   int       `json:"v"`
	All []Session `json:"sessions"`
}

// Session lets a browser do what a token may do, while both are valid. Only a hash of its
// secret is stored.
type Session struct {
	Hash string `json:"hash"`
	// Token is the hash of the token. A later token of the same name has another hash, so
	// it does not revive the session.
	Token string `json:"token"`
	Until int64  `json:"until"`
}

// DecodeSessions reads the value of the node; an empty value has none.
func DecodeSessions(data []byte) (Sessions, error) {
	var s Sessions
	if err := decodeIfAny(data, maxSessions, &s, &s.V); err != nil {
		return Sessions{}, err
	}
	if len(s.All) > MaxSessions {
		return Sessions{}, fmt.Errorf("it has %d sessions, the limit is %d", len(s.All), MaxSessions)
	}
	for _, one := range s.All {
		if !isHex(one.Hash, hashDigits) || !isHex(one.Token, hashDigits) || !isMoment(one.Until) {
			return Sessions{}, errors.New("a session in it is not what this release writes")
		}
	}
	return s, nil
}

// Find returns the session with that hash.
func (s *Sessions) Find(hash string) (Session, bool) {
	i := slices.IndexFunc(s.All, func(one Session) bool { return one.Hash == hash })
	if i < 0 {
		return Session{}, false
	}
	return s.All[i], true
}

// Add appends a session. If its token has MaxSessionsOf already, it first removes the
// token's oldest. It returns false if there is no room because of other tokens.
func (s *Sessions) Add(one Session) bool {
	same := 1 // sessions of the token, with the new one
	for _, have := range s.All {
		if have.Token == one.Token {
			same++
		}
	}
	s.Remove(func(have Session) bool {
		if same <= MaxSessionsOf || have.Token != one.Token {
			return false
		}
		same-- // this one goes
		return true
	})
	if len(s.All) >= MaxSessions {
		return false
	}
	s.All = append(slices.Clip(s.All), one)
	return true
}

// Remove removes the sessions for which gone is true, and reports whether there were any.
func (s *Sessions) Remove(gone func(Session) bool) bool {
	n := len(s.All)
	s.All = slices.DeleteFunc(slices.Clone(s.All), gone)
	return len(s.All) < n
}

// Encode returns the value of the node.
func (s *Sessions) Encode() []byte {
	s.V = version
	if s.All == nil {
		s.All = []Session{}
	}
	return encode(s)
}
