package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
)

func zoneFlag(c *cobra.Command, zone *string) {
	c.Flags().StringVar(zone, "tz", "", "time `zone` for all times, such as Europe/Berlin")
}

// zoneOf returns the one time zone in which a verb shows all its times: --tz, or the zone of
// the job, or the zone that all jobs have, or UTC.
func zoneOf(f *config.File, asked, job string) (*time.Location, error) {
	if asked != "" {
		zone, err := config.Location(asked)
		if err != nil {
			return nil, usage("--tz: %w", err)
		}
		return zone, nil
	}
	zones := zonesOf(f.Jobs)
	if zone := zones[job]; zone != nil {
		return zone, nil
	}
	var common *time.Location
	for _, zone := range zones {
		if common != nil && zone.String() != common.String() {
			return time.UTC, nil
		}
		common = zone
	}
	if common == nil || job != "" { // the configuration does not have the job
		return time.UTC, nil
	}
	return common, nil
}
