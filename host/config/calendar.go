package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/reason"
)

// calendars reads the lists of days in the tables [calendars.<name>]. It reports faults in them
// whether or not a job uses the calendar.
func (b *builder) calendars() map[string][]string {
	all := map[string][]string{}
	for _, table := range sortedNames(b.named) {
		name, ok := strings.CutPrefix(table, "calendars.")
		if !ok {
			continue
		}
		path := table + ".days"
		days := get(b, []string(nil), path)
		_, wrong := job.ParseDays(days)
		for _, i := range slices.Backward(wrong) { // from the end, so that the other indexes stay valid
			sub := "[" + strconv.Itoa(i) + "]"
			if !b.faulty[path+sub] {
				b.fault(table, "days", sub, reason.Of(reason.DayInvalid, strconv.Quote(days[i])))
			}
			days = slices.Delete(days, i, i+1) // so that no job reports it again
		}
		all[unquoteKey(name)] = days
	}
	return all
}

// except replaces the names of calendars in the setting except of a job by their days. So the
// registry has the days, which are then the same for all servers. path is the job's table.
func (b *builder) except(path string, c *job.Config) {
	table, days := path, []string(nil)
	if !b.isSet(path + ".except") {
		table = "defaults"
	}
	for i, entry := range c.Except {
		sub := "[" + strconv.Itoa(i) + "]"
		listed, isCalendar := b.listed[entry]
		_, wrong := job.ParseDays([]string{entry})
		switch {
		case isCalendar:
			days = append(days, listed...)
		case len(wrong) == 0:
			days = append(days, entry)
		case !b.faulty[table+".except"+sub]:
			why := reason.Of(reason.CalendarUnknown, strconv.Quote(entry))
			b.fault(table, "except", sub, meantOr(entry, slices.Sorted(maps.Keys(b.listed)), reason.CalendarMeant, why))
		}
	}
	slices.Sort(days)
	c.Except = slices.Compact(days)
}
