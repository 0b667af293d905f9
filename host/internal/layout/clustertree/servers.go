package clustertree

import (
	"errors"
	"slices"
)

// Bounds of servers.
const (
	// MaxServers is how many servers a server knows.
	MaxServers = 256
	maxIP      = 64
	maxAddress = 300
	// maxServer bounds the text of one.
	maxServer = 512
	// serverDigits is the length of an Ed25519 public key in hex.
	serverDigits = 64
)

// Server is where a server answers the others. The name of its node is the key by which they
// know it, so it is never set: a server with another key makes another node.
type Server struct {
	V       int    `json:"v"`
	IP      string `json:"ip"`      // which instances there have
	Address string `json:"address"` // as https://host:port
}

// DecodeServer reads the value of a server's node.
func DecodeServer(data []byte) (Server, error) {
	var s Server
	if err := decode(data, maxServer, &s, &s.V); err != nil {
		return Server{}, err
	}
	if !s.fits() {
		return Server{}, errors.New("it is not what this release writes")
	}
	return s, nil
}

func (s Server) fits() bool {
	return s.IP != "" && short(s.IP, maxIP) == s.IP && s.Address != "" && short(s.Address, maxAddress) == s.Address
}

// Encode is the value of the node. It is nil for what would not be read.
func (s Server) Encode() []byte {
	if !s.fits() {
		return nil
	}
	s.V = version
	return encode(s)
}

// ServerKeys are the names below the node of all servers that are keys, at most MaxServers.
func ServerKeys(names []string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !isHex(name, serverDigits) })
	return names[:min(len(names), MaxServers)]
}
