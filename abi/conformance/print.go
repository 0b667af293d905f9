package conformance

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
)

// Column is a guest, or the host itself, with its verdicts.
type Column struct {
	Name     string
	Verdicts []Verdict
}

// Print writes a table with a row for each case and a column for each name, followed by
// the reasons of failures. It returns how many cells passed and failed. All columns must
// have the same cases.
func Print(w io.Writer, columns []Column) (passed, failed int, err error) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "case")
	for _, c := range columns {
		fmt.Fprintf(table, "\t%s", c.Name)
	}
	fmt.Fprintln(table)
	for row, v := range columns[0].Verdicts {
		fmt.Fprint(table, v.Case.Name)
		for _, c := range columns {
			cell := "pass"
			if c.Verdicts[row].Err != nil {
				cell = "FAIL"
				failed++
			} else {
				passed++
			}
			fmt.Fprintf(table, "\t%s", cell)
		}
		fmt.Fprintln(table)
	}
	err = table.Flush()
	for _, c := range columns {
		for _, v := range c.Verdicts {
			if v.Err != nil {
				_, failure := fmt.Fprintf(w, "%s: %s (%s): %v\n", c.Name, v.Case.Name, v.Case.Rule, v.Err)
				err = cmp.Or(err, failure)
			}
		}
	}
	if err != nil {
		err = fmt.Errorf("print the table: %w", err)
	}
	return passed, failed, err
}
