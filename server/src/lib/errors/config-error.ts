/** A configuration that cannot work. Its message is shown to the operator without a stack trace. */
export class ConfigError extends Error {}
