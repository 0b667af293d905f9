package job

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ParseItemParams reads ElasticJob's text of item parameters, "0=a,1=b". If an item is named
// twice, the last parameter counts. Items beyond the total, even negative ones, are kept. Any
// fault refuses the whole text.
func ParseItemParams(text string) (map[int]string, error) {
	params := make(map[int]string)
	if text == "" {
		return params, nil
	}
	for _, piece := range split(text, ",") {
		pair := split(trim(piece), "=")
		if len(pair) != 2 {
			return nil, fmt.Errorf("item parameters: %s is not item=parameter", quote(piece))
		}
		item, err := ParseInt(trim(pair[0]))
		if err != nil {
			return nil, fmt.Errorf("item parameters: item %w", err)
		}
		params[item] = trim(pair[1])
	}
	return params, nil
}

// FormatItemParams writes a text that ParseItemParams reads as params, by ascending item. It
// refuses what the text cannot carry: commas and equals signs, blanks and control characters at
// either end, items beyond 32 bits.
func FormatItemParams(params map[int]string) (string, error) {
	pieces := make([]string, 0, len(params))
	for _, item := range slices.Sorted(maps.Keys(params)) {
		param := params[item]
		switch {
		case int(int32(item)) != item:
			return "", fmt.Errorf("item parameters: item %d is not a 32-bit integer", item)
		case strings.ContainsAny(param, ",="):
			return "", fmt.Errorf("item parameters: the parameter %s of item %d contains a comma or an equals sign", quote(param), item)
		case trim(param) != param:
			return "", fmt.Errorf("item parameters: the parameter %s of item %d begins or ends with a blank or control character", quote(param), item)
		case param == "":
			param = " =" // "0=" is no pair in Java; the second sign keeps the blank from being trimmed
		}
		pieces = append(pieces, strconv.Itoa(item)+"="+param)
	}
	return strings.Join(pieces, ","), nil
}

// ParseItems parses a list of items such as "2,0,1" and keeps its order. Of an item that occurs
// again, only the first place counts. The empty text is the empty list.
func ParseItems(text string) ([]int, error) {
	items := []int{}
	if text == "" {
		return items, nil
	}
	seen := make(map[int]bool)
	for _, piece := range split(text, ",") {
		item, err := ParseInt(piece)
		if err != nil {
			return nil, fmt.Errorf("list of items: %w", err)
		}
		if !seen[item] {
			seen[item] = true
			items = append(items, item)
		}
	}
	return items, nil
}

// FormatItems writes items in the format of ParseItems.
func FormatItems(items []int) string {
	var b []byte
	for i, item := range items {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(item), 10)
	}
	return string(b)
}
