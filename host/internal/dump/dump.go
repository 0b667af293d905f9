// Package dump writes the nodes of a job as text that can be shown to others: secrets and
// addresses are masked, and its size is bounded. It does not explain the nodes.
package dump

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/wasmjob/wasmjob/host/internal/layout"
	"github.com/wasmjob/wasmjob/host/registry"
)

// maxDump bounds a dump, in bytes. A job with many thousand items has more nodes than are
// useful.
const maxDump = 16 << 20

// ErrNoJob is the error of Write for a job that is not in the registry.
var ErrNoJob = errors.New("there is no such job in the registry")

// Reader reads nodes of a registry.
type Reader interface {
	Read(ctx context.Context, path string) (registry.Node, error)
}

// Write writes the nodes of a job, one per line: the path below the namespace, " | " and
// the value. To make the dump safe to show, addresses are replaced by ip1, ip2 and so on,
// and values that may be secrets or reveal files of a machine by ***; the state of guests
// is left out. A dump larger than 16 MiB is cut, and its last line says so.
func Write(ctx context.Context, r Reader, job layout.Layout, to io.Writer) error {
	n, err := r.Read(ctx, job.Root())
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", job.Root(), err)
	case !n.Exists:
		return ErrNoJob
	}
	d := &dump{from: r, job: job, above: strings.LastIndexByte(job.Root(), '/'), masks: masks{}, to: bufio.NewWriter(to)}
	if err := d.below(ctx, job.Root(), n.Children); err != nil {
		return err
	}
	if err := d.to.Flush(); err != nil {
		return fmt.Errorf("write the dump: %w", err)
	}
	return nil
}

// dump is a dump in progress.
type dump struct {
	from    Reader
	job     layout.Layout
	above   int // length of the namespace's path
	masks   masks
	to      *bufio.Writer
	written int // bytes of the lines
}

// below writes the nodes below a node, depth first and with names descending, as
// ElasticJob does.
func (d *dump) below(ctx context.Context, path string, children []string) error {
	for _, name := range slices.Backward(children) {
		if d.written >= maxDump {
			return nil
		}
		child := path + "/" + name
		n, err := d.from.Read(ctx, child)
		if err != nil {
			return fmt.Errorf("read %s: %w", child, err)
		}
		if !n.Exists {
			continue // it was deleted meanwhile
		}
		d.line(child[d.above:] + " | " + d.job.Masked(child, n.Data))
		if err := d.below(ctx, child, n.Children); err != nil {
			return err
		}
	}
	return nil
}

// line writes a line with its addresses replaced. After the last one that has room it says that
// there is more.
func (d *dump) line(text string) {
	text = d.masks.hide(strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' ' // one line per node, without control characters
		}
		return r
	}, text))
	n, _ := d.to.WriteString(text + "\n") // Flush returns the error
	if d.written += n; d.written >= maxDump {
		_, _ = d.to.WriteString("(there is more)\n")
	}
}

// masks maps addresses to their replacements.
type masks map[string]string

// address matches possible addresses: four numbers with dots, or groups of hexadecimal
// digits with colons.
var address = regexp.MustCompile(`(?:[0-9]{1,3}\.){3}[0-9]{1,3}|(?i)(?:\b[0-9a-f]{1,4})?(?::[0-9a-f]{0,4}){2,7}`)

// hide replaces the addresses in a text, the same address always by the same word.
func (m masks) hide(text string) string {
	return address.ReplaceAllStringFunc(text, func(found string) string {
		if _, err := netip.ParseAddr(found); err != nil {
			return found
		}
		if m[found] == "" {
			m[found] = fmt.Sprintf("ip%d", len(m)+1)
		}
		return m[found]
	})
}
