package operator

import (
	"maps"
	"slices"
)

// ServerReport sums up the jobs of a namespace for the servers at one address.
type ServerReport struct {
	IP       string `json:"server"`
	Members  int    `json:"jobs"`          // jobs with a member there
	Disabled int    `json:"disabled_jobs"` // jobs for which an operator disabled it
	Leads    int    `json:"leads"`         // jobs that it leads
	Items    int    `json:"items"`         // items that it owns
	Running  int    `json:"running"`       // items that it runs
	Drain    *Drain `json:"drain,omitempty"`
}

// ServersOf turns reports on jobs into reports on servers, sorted by address.
func ServersOf(jobs []JobReport) []ServerReport {
	found := map[string]*ServerReport{}
	at := func(ip string) *ServerReport {
		if found[ip] == nil {
			found[ip] = &ServerReport{IP: ip}
		}
		return found[ip]
	}
	for i := range jobs {
		j := &jobs[i]
		for _, s := range j.Servers {
			if r := at(s.IP); s.Disabled {
				r.Disabled++
			}
		}
		counted := map[string]bool{} // an address may have members of an earlier session
		for _, m := range j.Members {
			r := at(m.ID.IP())
			if !counted[r.IP] {
				counted[r.IP] = true
				r.Members++
			}
			r.Items += m.Items
			r.Running += m.Running
			if m.ID == j.Leader {
				r.Leads++
			}
		}
		for _, m := range j.Leaving {
			r := at(m.ID.IP())
			r.Items += m.Items
			r.Running += m.Running
		}
	}
	var all []ServerReport
	for _, ip := range slices.Sorted(maps.Keys(found)) {
		all = append(all, *found[ip])
	}
	return all
}
