/** The domain of the first email in the sandbox, which needs no DNS. It is not the user's own. */
export const trialDomain = (projectId: string) => `try-${projectId.slice(-8)}.test`
export const isTrialDomain = (domain: string) => /^try-[0-9a-f]{8}\.test$/.test(domain)
