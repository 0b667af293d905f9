// Package alert makes alerts of what goes wrong with jobs, and has one server of the cluster
// send them. It is not for metrics, which count everything, and it decides nothing about
// runs.
//
// Flow: Count makes facts of the rows, starts and ends of this server → Run writes them
// into the node of alerts, where those of one job and kind are one alert → the server that
// has the deliverer's node also looks for jobs that are late, and sends what is due to
// notifiers, webhooks and mail, tries again what could not be sent, and writes down what was. Whoever takes
// its place goes on from there.
package alert
