package evidence

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Named is the report on one fault.
type Named struct {
	Name string
	Report
}

// Table prints a line for each fault. session is the time-out after which a server counts
// as dead.
func Table(w io.Writer, session time.Duration, reports []Named) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "fault\tinstants\truns\toverlaps\tlosses\tdoubles\ttokens\trows\telements\tforgot\tlate\topen\ttaken\tp50\tmax\tmargin\t")
	for _, r := range reports {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t\n", r.Name, r.Instants, r.Runs,
			r.Count(Overlap), r.Count(Loss), r.Count(Double), r.Count(Token), r.Count(Row), r.Count(Elements), r.Count(Forgot), r.Late,
			r.Open, len(r.TookOver), seconds(r.TookOver, len(r.TookOver)/2), seconds(r.TookOver, len(r.TookOver)-1), margin(r.Margin))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	fmt.Fprintf(w, "p50, max: from the fault to the next attempt elsewhere; a session lasts %v\n", session)
	return nil
}

// seconds returns the i-th of some durations in ascending order.
func seconds(d []time.Duration, i int) string {
	if len(d) == 0 {
		return "-"
	}
	return slices.Sorted(slices.Values(d))[i].Round(10 * time.Millisecond).String()
}

// margin formats a Margin, which is negative if there was none.
func margin(d time.Duration) string {
	if d < 0 {
		return "-"
	}
	return d.Round(time.Millisecond).String()
}
