package evidence

import "time"

// takeovers measures, for each run that was open when its server was hit, when
// it started again, and when the next guest of its item started elsewhere.
func (c *checker) takeovers(tries []*try) {
	for _, hit := range c.in.Hit {
		for i, t := range tries {
			if t.ip() != hit.Server || t.first().At > hit.At || t.last().At < hit.At-silence || t.end {
				continue
			}
			c.report.Open++
			for _, next := range tries[i+1:] {
				if next.run == t.run && next.n == t.n+1 {
					c.report.TookOver = append(c.report.TookOver, time.Duration(next.first().At-hit.At)*time.Millisecond)
				}
				if next.server != t.server {
					c.margin(t, next)
					break
				}
			}
		}
	}
}

// margin leaves out the lines that t wrote after the next guest had started.
func (c *checker) margin(t, next *try) {
	last := t.first().At
	for _, l := range t.lines {
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
