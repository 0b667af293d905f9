package judge

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Named is the report on one scenario.
type Named struct {
	Name string
	Report
}

// Table prints a line for each role and event of each scenario. An item that
// missed or doubled an instant counts once; a tick is exact if none did.
func Table(w io.Writer, reports []Named) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\trole\tevent\tticks\texact\tmissed\tdoubled\tfaults")
	for _, n := range reports {
		for _, r := range n.Rows {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", n.Name, r.Role, r.Event, r.Ticks, r.Exact, r.Missed, r.Twice, r.Faults)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	return nil
}
