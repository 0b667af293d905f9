// Package alert raises alerts about problems of jobs, and makes one server of the cluster
// deliver them. It is not for metrics, which count everything, and it decides nothing about
// runs.
//
// Flow: Count turns rows, starts and ends of this server into facts → Run writes them into
// the node of alerts, which has one alert for each job and kind → the server that owns the
// deliverer's node also looks for late jobs, sends what is due to the notifiers (webhooks
// and mail), repeats failed deliveries, and records what was sent. The next deliverer
// continues from there.
package alert
