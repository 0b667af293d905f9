package protocol_test

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/internal/protocol"
	"github.com/wasmjob/wasmjob/host/job"
)

// How scripts write ids, times and lists of items.

const (
	network   = "10.0.0."
	firstHost = 11
	process   = "1"
)

// idOf returns the id of a name: a letter is a server, and the rest part of the process.
func idOf(name string) protocol.ID {
	if name == "" {
		return ""
	}
	return job.NewInstanceID(network+strconv.Itoa(int(name[0]-'a')+firstHost), process+name[1:])
}

// nameOf returns the name of an id; other ids stay as they are.
func nameOf(id protocol.ID) string {
	ip, suffix, ok := strings.Cut(string(id), job.Delimiter)
	name, server := serverOf(ip)
	if !ok || !server || !strings.HasPrefix(suffix, process) {
		return string(id)
	}
	return name + suffix[len(process):]
}

func serverOf(ip string) (string, bool) {
	n, err := strconv.Atoi(strings.TrimPrefix(ip, network))
	if err != nil || n < firstHost {
		return ip, false
	}
	return string(rune('a' + n - firstHost)), true
}

func namesOf(ids []protocol.ID) string {
	names := make([]string, len(ids))
	for k, id := range ids {
		names[k] = nameOf(id)
	}
	return strings.Join(names, " ")
}

func serversOf(ips []string) string {
	names := make([]string, len(ips))
	for k, ip := range ips {
		names[k], _ = serverOf(ip)
	}
	return strings.Join(names, " ")
}

// root is the job's own node, with which a mirror's paths begin.
func (c *cluster) root() string { return c.job.Root() }

var braced = regexp.MustCompile(`\{([a-z](?:-\d+)?)(\.ip)?\}`)

// expand replaces names in braces by ids and addresses.
func (c *cluster) expand(text string) string {
	return braced.ReplaceAllStringFunc(text, func(s string) string {
		m := braced.FindStringSubmatch(s)
		if m[2] != "" {
			return idOf(m[1]).IP()
		}
		return string(idOf(m[1]))
	})
}

var spelled = regexp.MustCompile(`10\.0\.0\.\d+(@-@1(-\d+)?)?`)

// nodeOf is the reverse of expand, for a path.
func (c *cluster) nodeOf(path string) string {
	if path == c.root() {
		return "."
	}
	return spelled.ReplaceAllStringFunc(strings.TrimPrefix(path, c.root()+"/"), func(s string) string {
		if ip, _, ok := strings.Cut(s, job.Delimiter); !ok {
			name, _ := serverOf(ip)
			return "{" + name + ".ip}"
		}
		return "{" + nameOf(protocol.ID(s)) + "}"
	})
}

func msOf(text string) (int64, error) {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("no time: %q", text)
	}
	return int64(math.Round(s * 1000)), nil
}

func gapsOf(gaps []protocol.Gap) string {
	texts := make([]string, len(gaps))
	for k, g := range gaps {
		texts[k] = fmt.Sprintf("between %s and %s%s", secondsOf(g.After), secondsOf(g.Until), given(g.Cron != "every-10s", " of "+g.Cron))
	}
	return strings.Join(texts, ", ")
}

func secondsOf(ms int64) string { return strconv.FormatFloat(float64(ms)/1000, 'f', -1, 64) }

// span writes n numbers from the first on.
func span(first int64, n int) string {
	if n == 1 {
		return fmt.Sprint(first)
	}
	return fmt.Sprintf("%d-%d", first, first+int64(n-1))
}

// itemsOf reads 0-2,5.
func itemsOf(text string) ([]int, error) {
	var items []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		i, err := strconv.Atoi(from)
		if err != nil {
			return nil, err
		}
		last, err := strconv.Atoi(to)
		if err != nil {
			return nil, err
		}
		for ; i <= last; i++ {
			items = append(items, i)
		}
	}
	return items, nil
}

// list writes 0-2,5.
func list(items []int) string {
	var b strings.Builder
	for k := 0; k < len(items); {
		end := k
		for end+1 < len(items) && items[end+1] == items[end]+1 {
			end++
		}
		if k > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(items[k]))
		if end > k {
			b.WriteString("-" + strconv.Itoa(items[end]))
		}
		k = end + 1
	}
	if b.Len() == 0 {
		return "none"
	}
	return b.String()
}

// folded prints values by item, with one range for neighbours with equal values: 0-2=a 3=b.
func folded[T comparable](s []T, text func(T) string) string {
	var none T
	var parts []string
	for i := 0; i < len(s); {
		end := i
		for end+1 < len(s) && s[end+1] == s[i] {
			end++
		}
		if s[i] != none {
			items := strconv.Itoa(i)
			if end > i {
				items += "-" + strconv.Itoa(end)
			}
			parts = append(parts, items+"="+text(s[i]))
		}
		i = end + 1
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, " ")
}
