// Package javatest writes a job into a registry as members of ElasticJob 2.1.5 do, for
// tests of servers that share a job with them. It runs no such member.
package javatest

import (
	"strings"
	"testing"

	"github.com/wasmjob/wasmjob/host/internal/layout/v21"
	"github.com/wasmjob/wasmjob/host/job"
	"github.com/wasmjob/wasmjob/host/registry"
)

// The job, its class, and its one member.
const (
	Namespace = "jobs"
	Name      = "orders"
	Class     = "com.acme.OrderJob"
	Member    = "10.0.0.1@-@812"
)

// Node returns the path of a node of the job.
func Node(names ...string) string {
	return strings.Join(append([]string{"/" + Namespace, Name}, names...), "/")
}

// Config returns the job's configuration as a member writes it, changed by change unless
// that is nil.
func Config(change func(*v21.Config)) string {
	c := v21.Default()
	c.JobName, c.JobClass, c.JobType, c.Cron, c.ShardingTotalCount = Name, Class, v21.Simple, "0 * * * * ?", 2
	if change != nil {
		change(&c)
	}
	text, err := v21.EncodeConfig(c)
	if err != nil {
		panic(err) // the text comes from the tests
	}
	return string(text)
}

// File returns the job as a matching server's own file has it, changed by change unless
// that is nil.
func File(change func(*job.Config)) []job.Config {
	j := job.Config{
		Name: Name, Cron: "0 * * * * ?", Shards: 2, Misfire: true, MonitorExecution: true, MaxClockSkew: -1, Strategy: "average",
		ReconcileEvery: 600e9, Class: Class, TimeZone: "Europe/Berlin", Layout: job.Layout21,
	}
	if change != nil {
		change(&j)
	}
	return []job.Config{j}
}

// Put writes a node unconditionally.
func Put(t *testing.T, s registry.Session, kind registry.OpKind, path, data string) {
	t.Helper()
	if _, err := s.Commit(t.Context(), registry.Op{Kind: kind, Path: path, Data: []byte(data), Version: registry.AnyVersion}); err != nil {
		t.Fatal(err)
	}
}

// Write writes the job with its only member, which owns both items.
func Write(t *testing.T, s registry.Session, config string) {
	t.Helper()
	Put(t, s, registry.Create, "/"+Namespace, "")
	for _, n := range []struct{ path, data string }{
		{Node(), ""},
		{Node("config"), config},
		{Node("servers"), ""},
		{Node("servers", "10.0.0.1"), ""},
		{Node("instances"), ""},
		{Node("leader"), ""},
		{Node("leader", "election"), ""},
		{Node("leader", "sharding"), ""},
		{Node("sharding"), ""},
		{Node("sharding", "0"), ""},
		{Node("sharding", "0", "instance"), Member},
		{Node("sharding", "1"), ""},
		{Node("sharding", "1", "instance"), Member},
	} {
		Put(t, s, registry.Create, n.path, n.data)
	}
	Put(t, s, registry.CreateEphemeral, Node("instances", Member), "")
	Put(t, s, registry.CreateEphemeral, Node("leader", "election", "instance"), Member)
}
