/** Names that only the service records; they cannot be deleted. */
export const isReserved = (name: string) => /^(email\..*|contact\.(subscribed|unsubscribed)|segment\..+\.(entry|exit))$/s.test(name)
