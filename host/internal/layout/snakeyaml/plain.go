package snakeyaml

import (
	"regexp"
	"strings"
)

// Patterns of scalars without quotes that are not texts, by YAML 1.1.
var (
	boolean = regexp.MustCompile(`^(?:(?:yes|Yes|YES|true|True|TRUE|on|On|ON)|(?:no|No|NO|false|False|FALSE|off|Off|OFF))$`)
	null    = regexp.MustCompile(`^(?:~|null|Null|NULL|)$`)
	number  = regexp.MustCompile(`^[-+]?(?:` + strings.Join([]string{
		`0b_*[01][01_]*`, `0_*[0-7][0-7_]*`, `0`, `[1-9][0-9_]*`, `0x_*[0-9a-fA-F][0-9a-fA-F_]*`, `[1-9][0-9_]*(?::[0-5]?[0-9])+`,
		`[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?`, `[0-9][0-9_]*[eE][-+]?[0-9]+`, `\.[0-9_]+(?:[eE][-+]?[0-9]+)?`,
		`[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*`, `\.(?:inf|Inf|INF)`,
	}, "|") + `)$|^0[0-9_]*$|^\.(?:nan|NaN|NAN)$`)
	moment = regexp.MustCompile(`^\d{4}-\d\d-\d\d$|^\d{4}-\d\d?-\d\d?(?:[Tt]|[ \t]+)\d\d?:\d\d:\d\d(?:\.\d*)?(?:[ \t]*(?:Z|[-+]\d\d?(?::\d\d)?))?$`)
)

const merge = "<<"

// isText reports whether a scalar without quotes is a text, not a number or another type.
func isText(s string) bool {
	return s != merge && !boolean.MatchString(s) && !null.MatchString(s) && !number.MatchString(s) && !moment.MatchString(s)
}
