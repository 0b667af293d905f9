package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/abi"
)

// version is set by the linker for a release.
var version = "dev"

// build is what "version" prints.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Wazero   string `json:"wazero"`
	ABI      int    `json:"abi"`
}

func versionCommand(term *terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the versions of the program and its components",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if term.json() {
				return term.printJSON(b)
			}
			term.printf("wasmjobd %s\n", b.Version)
			if b.Revision != "" {
				term.printf("revision %s\n", b.Revision)
			}
			term.printf("%s %s\nwazero %s\nabi %d\n", b.Go, b.Platform, b.Wazero, b.ABI)
			return nil
		},
	}
}

func thisBuild() build {
	b := build{
		Version:  version,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Wazero:   "unknown",
		ABI:      abi.Version,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/tetratelabs/wazero" {
			b.Wazero = dep.Version
			if dep.Replace != nil {
				b.Wazero = dep.Replace.Version
			}
		}
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}
