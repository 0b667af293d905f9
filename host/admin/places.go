package admin

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// lifeLength is the length of Events.life, in bytes.
const lifeLength = 8

// maxPlaces limits the places in the id of an event: those of this stream, and as many of an earlier one.
const maxPlaces = 2 * (maxFollowed + 1)

// place is the number of events that a client has of one life of a server, which is one process.
type place struct {
	life string
	n    int64
}

func (p place) String() string { return p.life + "-" + strconv.FormatInt(p.n, 10) }

// parsePlaces reads the id of an event; nil: it is none.
func parsePlaces(id string) []place {
	var all []place
	for text := range strings.SplitSeq(id, ",") {
		life, number, _ := strings.Cut(text, "-")
		n, err := strconv.ParseInt(number, 10, 64)
		p := place{life, n}
		twice := slices.ContainsFunc(all, func(of place) bool { return of.life == life })
		if err != nil || n < 0 || len(life) != lifeLength || p.String() != text || twice || len(all) == maxPlaces {
			return nil
		}
		all = append(all, p)
	}
	return all
}

// places are a client's places in the events of all servers.
type places struct {
	of map[string]place // by the address of the server
	// left are places of an earlier stream that no server has claimed yet.
	left []place
}

// reached sets the client's place in the events of the server at an address; "" is this one. It ignores a place in a
// life that the server at another address has: with two places in it, the client would lose events of that server.
func (p *places) reached(address string, to place) {
	for at, one := range p.of {
		if at != address && one.life == to.life {
			return
		}
	}
	p.of[address] = to
	p.left = slices.DeleteFunc(p.left, func(one place) bool { return one.life == to.life })
}

// id is an event id with which a client can continue at any server.
func (p *places) id() string {
	var all []string
	for _, address := range slices.Sorted(maps.Keys(p.of)) {
		all = append(all, p.of[address].String())
	}
	for _, one := range p.left[:min(len(p.left), maxPlaces-len(all))] {
		all = append(all, one.String())
	}
	return strings.Join(all, ",")
}
