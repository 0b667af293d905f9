package job

import (
	"errors"
	"fmt"
	"strings"
)

// SplitCommand splits a command line into its words. Blanks separate words, and either kind of
// quotes keeps blanks and the other kind of quotes together. There are no escapes, variables or
// shell. It refuses a line without a word, a quote that is not closed, and a NUL, which no
// argument can hold.
func SplitCommand(line string) ([]string, error) {
	if strings.ContainsRune(line, 0) {
		return nil, errors.New("the command line contains a NUL")
	}
	var words []string
	var word strings.Builder
	inWord := false // word is to be kept, even if empty
	for rest := line; rest != ""; {
		c := rest[0]
		rest = rest[1:]
		switch c {
		case ' ', '\t', '\r', '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case '"', '\'': // also within a word, and empty quotes make an empty word
			inside, after, closed := strings.Cut(rest, string(c))
			if !closed {
				return nil, fmt.Errorf("the command line has a %c that is not closed", c)
			}
			word.WriteString(inside)
			inWord, rest = true, after
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("the command line names no program")
	}
	return words, nil
}
