package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http/httptest"
	"syscall"
	"testing"

	"github.com/wasmjob/wasmjob/host/job"
)

// A server cannot fill the memory with a response that is never read.
func TestLittleIsReceivedAhead(t *testing.T) {
	t.Parallel()
	plain := httptest.NewTLSServer(nil) // for its certificate
	defer plain.Close()
	roots := x509.NewCertPool()
	roots.AddCert(plain.Certificate())
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: plain.TLS.Certificates, NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	window := make(chan uint32, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			close(window)
			return
		}
		defer conn.Close()
		window <- initialWindow(conn)
	}()
	address := l.Addr().String()
	c, err := New([]string{"GET https://" + address}, Options{Roots: roots})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Do(t.Context(), job.HTTPRequest{Method: "GET", URL: "https://" + address + "/"}); err == nil {
		t.Error("there was no answer")
	}
	if got := <-window; got != receiveAhead {
		t.Errorf("the window of a stream of HTTP/2 is %d, want %d", got, receiveAhead)
	}

	conn, err := c.dial(t.Context(), "tcp", plain.Listener.Addr().String())
	if err == nil {
		t.Error("an address that was not granted")
		_ = conn.Close()
	}
	if conn, err = c.dial(t.Context(), "tcp", address); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		if got, err := syscall.GetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF); err != nil || got > 2*receiveAhead {
			t.Errorf("the system receives %d bytes, %v", got, err)
		}
	}); err != nil {
		t.Error(err)
	}
}

// initialWindow returns the HTTP/2 window that a client announces for a stream; 0 if it
// announces none.
func initialWindow(conn net.Conn) uint32 {
	const preface, settings, window = 24, 4, 4
	head := make([]byte, preface+9)
	if _, err := io.ReadFull(conn, head); err != nil || head[preface+3] != settings {
		return 0
	}
	frame := make([]byte, int(head[preface])<<16|int(head[preface+1])<<8|int(head[preface+2]))
	if _, err := io.ReadFull(conn, frame); err != nil {
		return 0
	}
	for ; len(frame) >= 6; frame = frame[6:] {
		if binary.BigEndian.Uint16(frame) == window {
			return binary.BigEndian.Uint32(frame[2:])
		}
	}
	return 0
}
