package evidence

import "time"

// takeovers measures, for each run that was open when its server was hit, when
// it started again, and when the next guest of its item started elsewhere.
func (c *checker) takeovers(guests []*guest) {
	for _, hit := range c.in.Hit {
		for i, g := range guests {
			// It was not open on that server then.
			if g.ip() != hit.Server || g.first().At > hit.At || g.last().At < hit.At-silence || g.end {
				continue
			}
			c.report.Open++
			for _, next := range guests[i+1:] {
				if next.run == g.run && next.n == g.n+1 {
					c.report.TookOver = append(c.report.TookOver, time.Duration(next.first().At-hit.At)*time.Millisecond)
				}
				if next.server != g.server {
					c.margin(g, next)
					break
				}
			}
		}
	}
}

// margin updates Report.Margin. It leaves out the lines that g wrote after next had started.
func (c *checker) margin(g, next *guest) {
	last := g.first().At
	for _, l := range g.lines {
		if l.order < next.first().order {
			last = l.At
		}
	}
	m := time.Duration(next.first().At-last) * time.Millisecond
	if c.report.Margin < 0 || m < c.report.Margin {
		c.report.Margin = m
	}
}

// silence is, in milliseconds, the longest time for which a working guest writes
// no line; its machine may be busy.
const silence = 500
