package snakeyaml

import (
	"bytes"
	"fmt"
)

const mark = "\ufeff"

// withoutMarks returns the text with another character of the same size in place of each
// U+FEFF behind the beginning, and that character, stand; "" if nothing was replaced. The
// parser has a fault: when its buffer happens to begin with U+FEFF, it skips the first
// character of each line.
func withoutMarks(text []byte) (plain []byte, stand string) {
	if bytes.LastIndex(text, []byte(mark)) <= 0 {
		return text, ""
	}
	lower := bytes.ToLower(text)
	for r := '\ue000'; r < '\ue010'; r++ { // private use: hardly a text has all of them
		stand = string(r)
		if !bytes.Contains(text, []byte(stand)) && !bytes.Contains(lower, fmt.Appendf(nil, "%x", r)) { // nor escaped
			head := len(mark)
			return append(text[:head:head], bytes.ReplaceAll(text[head:], []byte(mark), []byte(stand))...), stand
		}
	}
	return text, ""
}
