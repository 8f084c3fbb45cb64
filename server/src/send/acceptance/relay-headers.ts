/**
 * Headers by which relays (Amazon SES, SendGrid, SparkPost, Mandrill, Mailgun, Postmark, Mailjet) take orders: other recipients, another
 * account, no suppression. They are for the operator of the relay, not for its tenants.
 */
export const RELAY_HEADER = /^(x-smtpapi|x-msys-api|x-(ses|mc|mailgun|pm|mj)-.*)$/i
