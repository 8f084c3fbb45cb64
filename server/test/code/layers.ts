/** Lowest layer first. A folder may import from lower layers, never from its own layer or above. */
export const LAYERS = [
  'lib',
  'mime',
  'db',
  'nodes',
  'ledger',
  'webhooks',
  'http jobs account-emails',
  'events projects',
  'contacts domains uploads',
  'preferences conditions',
  'templates',
  'delivery',
  'segments',
  'track send verify opens-clicks inbound campaigns workflows',
  'activity analytics usage billing reputation auth webhook-endpoints',
  'doctor monitoring backup moving',
].map((line) => line.split(' '))
