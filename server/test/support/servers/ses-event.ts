/** The ids of an email. */
export type EmailIds = { id: string; projectId: string; messageId: string; contactId: string }

/** An event as Amazon SES writes it. */
export const eventOf = (email: EmailIds, eventType: string, more: object = {}, about: object = {}) =>
  JSON.stringify({
    eventType,
    mail: {
      messageId: `ses-${email.id}`,
      tags: { emailId: [email.id], projectId: [email.projectId], 'ses:configuration-set': ['sterna'] },
      commonHeaders: { messageId: `<${email.messageId}>` },
      ...about,
    },
    ...more,
  })

export const bounce = (bounceType: string, diagnosticCode = 'smtp; 550 5.1.1 user unknown') => ({
  bounce: { bounceType, bounceSubType: 'General', bouncedRecipients: [{ emailAddress: 'x', status: '5.1.1', diagnosticCode }] },
})
