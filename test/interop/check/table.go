package check

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Named is the report on one scenario.
type Named struct {
	Name string
	Report
}

// Together adds up the rows of all scenarios by role and event.
func Together(reports []Named) Named {
	var all Named
	for _, n := range reports {
		for _, r := range n.Rows {
			i := slices.IndexFunc(all.Rows, func(o Row) bool { return o.Role == r.Role && o.Event == r.Event })
			if i < 0 {
				all.Rows = append(all.Rows, r)
				continue
			}
			o := &all.Rows[i]
			o.Ticks, o.Exact, o.Missed, o.Twice = o.Ticks+r.Ticks, o.Exact+r.Exact, o.Missed+r.Missed, o.Twice+r.Twice
			o.Excused, o.Faults, o.Unsure = o.Excused+r.Excused, o.Faults+r.Faults, o.Unsure+r.Unsure
		}
		all.Excuses = append(all.Excuses, n.Excuses...)
		all.Findings = append(all.Findings, n.Findings...)
	}
	slices.SortStableFunc(all.Rows, func(a, b Row) int { return cmp.Compare(a.Role, b.Role) })
	return all
}

// Table prints a line for each role and event of each scenario. A tick is exact if no
// item missed or doubled it. The other columns count items; unsure counts items that ran
// on a member of ElasticJob although our history says that they did not. Below the table
// it prints how often each reason excused an item, and its first case.
func Table(w io.Writer, reports []Named) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "scenario\trole\tevent\tticks\texact\tmissed\tdoubled\texcused\tfaults\tunsure")
	for _, n := range reports {
		for _, r := range n.Rows {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\n", n.Name, r.Role, r.Event, r.Ticks, r.Exact, r.Missed, r.Twice, r.Excused, r.Faults, r.Unsure)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("print the table: %w", err)
	}
	for _, n := range reports {
		excuses(w, n.Excuses)
	}
	return nil
}

// excuses prints a line for each reason.
func excuses(w io.Writer, all []Excuse) {
	n, first := map[Reason]int{}, []Excuse{}
	for _, e := range all {
		if n[e.Reason]++; n[e.Reason] == 1 {
			first = append(first, e)
		}
	}
	slices.SortFunc(first, func(a, b Excuse) int { return cmp.Compare(a.Reason, b.Reason) })
	for _, e := range first {
		fmt.Fprintf(w, "%d times %s; first %s, %s, %d, item %d: %s\n", n[e.Reason], e.Reason, e.Role, e.Event, e.At, e.Item, e.Evidence)
	}
}
