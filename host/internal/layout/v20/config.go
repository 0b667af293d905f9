package v20

import "github.com/wasmjob/wasmjob/host/internal/layout/v21"

// Config is the configuration of a job as ElasticJob-Lite 2.0 keeps it.
type Config = v21.Config

// EncodeConfig writes the configuration to the byte as Java does. It refuses
// what Java's builder and reader refuse.
func EncodeConfig(c Config) ([]byte, error) { return v21.Form20.Encode(c) }

// DecodeConfig reads a configuration that a Java member, its console or a person wrote.
// An empty text is no configuration: nil without error.
func DecodeConfig(data []byte) (*Config, error) { return v21.Form20.Decode(data) }
