package clustertree

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Bounds of tokens.
const (
	MaxTokens    = 1000
	MaxTokenName = 64
	// maxTokens bounds the text of all tokens, below the 1 MiB of a request to ZooKeeper.
	maxTokens = MaxTokens * 400
	maxRole   = 16
)

// hashDigits is the length of a SHA-256 in hex.
const hashDigits = 64

// Tokens are all tokens of a cluster, ascending by name.
type Tokens struct {
	V   int     `json:"v"`
	All []Token `json:"tokens"`
}

// Token is one token. Only a hash of its secret is stored.
type Token struct {
	Name    string `json:"name"`
	Role    string `json:"role"`
	Hash    string `json:"hash"`
	Created int64  `json:"created"`
	Until   int64  `json:"until,omitempty"` // 0: it does not expire
	By      string `json:"by"`              // its creator
}

// DecodeTokens reads the value of the node; an empty value has no tokens.
func DecodeTokens(data []byte) (Tokens, error) {
	var t Tokens
	if err := decodeIfAny(data, maxTokens, &t, &t.V); err != nil {
		return Tokens{}, err
	}
	return t, t.check()
}

// check refuses what Encode does not write.
func (t *Tokens) check() error {
	switch {
	case len(t.All) > MaxTokens:
		return fmt.Errorf("there are %d tokens, the limit is %d", len(t.All), MaxTokens)
	case !slices.IsSortedFunc(t.All, byName):
		return errors.New("the tokens are not sorted")
	}
	for i, one := range t.All {
		switch {
		case CheckTokenName(one.Name) != nil || i > 0 && t.All[i-1].Name == one.Name:
			return fmt.Errorf("token %d has the name %.80q", i, one.Name)
		case len(one.Role) == 0 || len(one.Role) > maxRole:
			return fmt.Errorf("token %s has the role %.20q", one.Name, one.Role)
		case !isHex(one.Hash, hashDigits):
			return fmt.Errorf("the hash of token %s is not one", one.Name)
		case !isMoment(one.Created) || one.Until != 0 && !isMoment(one.Until):
			return fmt.Errorf("a time of token %s is not one", one.Name)
		case short(one.By, maxWho) != one.By:
			return fmt.Errorf("the creator of token %s is not readable", one.Name)
		}
	}
	return nil
}

func byName(a, b Token) int { return strings.Compare(a.Name, b.Name) }

// Add inserts a token. It reports whether there was room; the name must be free.
func (t *Tokens) Add(one Token) bool {
	if len(t.All) >= MaxTokens {
		return false
	}
	one.By = short(one.By, maxWho)
	i, _ := slices.BinarySearchFunc(t.All, one, byName)
	t.All = slices.Insert(slices.Clip(t.All), i, one)
	return true
}

// Find returns the token of that name.
func (t *Tokens) Find(name string) (Token, bool) {
	i, ok := slices.BinarySearchFunc(t.All, Token{Name: name}, byName)
	if !ok {
		return Token{}, false
	}
	return t.All[i], true
}

// Remove removes the tokens for which gone is true, and reports whether there were any.
func (t *Tokens) Remove(gone func(Token) bool) bool {
	n := len(t.All)
	t.All = slices.DeleteFunc(slices.Clone(t.All), gone)
	return len(t.All) < n
}

// Encode returns the value of the node.
func (t *Tokens) Encode() []byte {
	t.V = version
	if t.All == nil {
		t.All = []Token{}
	}
	return encode(t)
}

// CheckTokenName refuses a name that is empty, long, or easily taken for another name or
// for a flag.
func CheckTokenName(name string) error {
	if name == "" || len(name) > MaxTokenName || name[0] == '-' || name[0] == '.' {
		return fmt.Errorf("%.80q cannot be the name of a token: write 1 to %d letters and digits, and after the first also - _ . @", name, MaxTokenName)
	}
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.@", r)) {
			return fmt.Errorf("%.80q cannot be the name of a token: %q is no letter of ASCII, digit, or one of - _ . @", name, r)
		}
	}
	return nil
}
