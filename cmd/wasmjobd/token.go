package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/wasmjob/wasmjob/host/config"
	"github.com/wasmjob/wasmjob/host/operator"
)

// The JSON of the verbs below token. Scripts read it: add fields, change none.

type createdToken struct {
	Version int    `json:"version"`
	Secret  string `json:"secret"`
	operator.Token
}

type listedTokens struct {
	Version int              `json:"version"`
	Tokens  []operator.Token `json:"tokens"`
}

// tokenLife is how long a token is valid unless --valid-for says otherwise.
const tokenLife = 90 * 24 * time.Hour

// tokenCommand holds the verbs of tokens.
func tokenCommand(term *terminal) *cobra.Command {
	c := &cobra.Command{
		Use: "token", Short: "Look after tokens: create, list, revoke",
		Long: "A token lets a person or program on another machine ask the servers of this cluster, at the\n" +
			"address that [admin] listen gives them. Its role says for what: a viewer sees jobs, servers and\n" +
			"runs; an operator also triggers, pauses, disables and ends jobs; a publisher sees as much, brings\n" +
			"modules and sets those of jobs; an admin may do everything.",
	}
	return operatorNoun(term, c, tokenCreate, tokenList, tokenRevoke)
}

func tokenCreate(o *operatorVerb) *cobra.Command {
	var role string
	var life time.Duration
	c := &cobra.Command{
		Use: "create NAME", Short: "Make a token, and print it once", Args: cobra.ExactArgs(1),
		Long: "The token goes to standard output, alone on its line, and cannot be shown again: the registry\n" +
			"has a hash of it. All servers take it at once. The name says in the audit who did something, so\n" +
			"give each person and program one of its own.",
		Example: "  (umask 077; wasmjobd token create ci --role publisher >ci.token)",
	}
	c.Flags().StringVar(&role, "role", string(operator.RoleViewer), "viewer, operator, publisher or admin")
	c.Flags().DurationVar(&life, "valid-for", tokenLife, "after this `time` it expires; 0: never")
	c.RunE = func(c *cobra.Command, args []string) error {
		return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
			secret, t, err := op.CreateToken(ctx, args[0], operator.Role(role), life)
			if err != nil {
				return err
			}
			if o.term.json() {
				return o.term.printJSON(createdToken{Version: 1, Secret: secret, Token: t})
			}
			o.term.printf("%s\n", secret)
			o.term.note("token %s is for the role %s, %s; it is not shown again", t.Name, t.Role, lifeOf(t))
			return nil
		})
	}
	return c
}

// lifeOf says how long a token is valid.
func lifeOf(t operator.Token) string {
	if t.Until.IsZero() {
		return "valid for ever"
	}
	return "valid until " + stamp(t.Until.UnixMilli(), time.UTC)
}

func tokenList(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show all tokens of the cluster, without their secrets", Args: cobra.NoArgs,
		Long: "For each token: its role, when it was made and by whom, and when it expires. One that has\n" +
			"expired is shown for a day.",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				all, err := op.Tokens(ctx)
				switch {
				case err != nil:
					return err
				case o.term.json():
					return o.term.printJSON(listedTokens{Version: 1, Tokens: append([]operator.Token{}, all...)})
				case len(all) == 0:
					o.term.note("this cluster has no token")
				}
				w := table(o.term, "TOKEN\tROLE\tCREATED\tBY\tEXPIRES")
				for _, t := range all {
					expires := "never"
					if !t.Until.IsZero() {
						expires = stamp(t.Until.UnixMilli(), time.UTC)
					}
					if t.Expired {
						expires += ", has expired"
					}
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", plain(t.Name), plain(string(t.Role)), stamp(t.Created.UnixMilli(), time.UTC), plain(t.By), expires)
				}
				return flush(w)
			})
		},
	}
}

func tokenRevoke(o *operatorVerb) *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "End a token; a second later no server takes it", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return o.ask(c.Context(), func(ctx context.Context, _ *config.File, op cluster) error {
				if err := op.RevokeToken(ctx, args[0]); err != nil {
					return err
				}
				return o.term.answer(map[string]any{"version": 1, "revoked": args[0]}, "%s: revoked\n", plain(args[0]))
			})
		},
	}
}
